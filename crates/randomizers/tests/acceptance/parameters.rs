//! Parameters and values outside their domains.

use shuffledp_randomizers::{
    Duchi, Error, GaussianVector, KaryResponse, LaplaceVector, LocalHashing, Randomizer, Simulated,
    UnaryEncoding,
};

#[test]
fn parameters_outside_their_domains_are_refused_by_name() {
    let message = KaryResponse::new(4, 0.0).unwrap_err().to_string();
    assert_eq!(message, "epsilon0 0 is outside [1e-6, 100] for a device");
    assert!(LocalHashing::new(4, 30.0).is_err());
    assert!(KaryResponse::new(1, 1.0).is_err());
    assert!(UnaryEncoding::optimized(1 << 40, 1.0).is_err());
    assert!(Duchi::new(f64::NAN).is_err());
    let message = |refused: Result<(), Error>| refused.unwrap_err().to_string();
    let gaussian = |d, radius, sigma| message(GaussianVector::new(d, radius, sigma).map(drop));
    let laplace = |d, radius, epsilon0| message(LaplaceVector::new(d, radius, epsilon0).map(drop));
    let (sigma, epsilon0) = ("[0.3, 200] for a device", "[0.01, 100] for a device");
    for (value, text) in [(0.29, "0.29"), (201.0, "201"), (f64::NAN, "NaN")] {
        let message = gaussian(3, 1.0, value);
        assert_eq!(message, format!("sigma {text} is outside {sigma}"));
    }
    for (value, text) in [(0.0, "0"), (100.5, "100.5"), (f64::NAN, "NaN")] {
        let message = laplace(3, 1.0, value);
        assert_eq!(message, format!("epsilon0 {text} is outside {epsilon0}"));
    }
    for refused in [&gaussian as &dyn Fn(usize, f64, f64) -> String, &laplace] {
        assert_eq!(refused(0, 1.0, 1.0), "dimension 0 is outside [1, 2^30]");
        let message = refused(3, 0.0, 1.0);
        assert_eq!(message, "radius 0 is outside [1e-30, 1e30]");
    }
    let mut report = [0];
    let message = KaryResponse::new(4, 1.0)
        .unwrap()
        .randomize(&4, &mut Simulated::new(0, 0), &mut report)
        .unwrap_err()
        .to_string();
    assert_eq!(message, "value 4 is outside [0, 3]");
}
