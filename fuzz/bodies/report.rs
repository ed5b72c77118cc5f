//! A report from somebody else: it is counted and the estimate is finite, or it is refused and nothing
//! changes. The first byte says which randomizer reads the rest.

use shuffledp_randomizers::{
    DiscreteGaussian, DiscreteLaplace, Duchi, Error, Gaussian, GaussianVector, HadamardResponse,
    Hierarchy, Hybrid, KaryResponse, LaplaceVector, LocalHashing, MixedGaussian, Piecewise,
    Prefixes, PrivUnit, R1, R2, RInf, Ramp, Randomizer, SubsetSelection, UnaryEncoding,
};
use std::fmt::Debug;
use std::sync::LazyLock;

/// Reads a report by one randomizer.
type Reader = Box<dyn Fn(&[u8]) + Send + Sync>;

/// All of them, made once: some take long to make.
static READERS: LazyLock<Vec<Reader>> = LazyLock::new(|| {
    vec![
        reader(KaryResponse::new(10, 2.0)),
        reader(KaryResponse::new(1000, 2.0)),
        reader(UnaryEncoding::symmetric(10, 2.0)),
        reader(UnaryEncoding::optimized(17, 2.0)),
        reader(SubsetSelection::new(20, 1.0)),
        reader(HadamardResponse::new(20, 1.0)),
        reader(LocalHashing::new(20, 1.0)),
        reader(Duchi::new(1.0)),
        reader(Piecewise::new(2.0)),
        reader(Hybrid::new(2.0)),
        reader(DiscreteLaplace::new(12, 2.0)),
        reader(Gaussian::new(1.0)),
        reader(DiscreteGaussian::new(3.0, 1e-6)),
        reader(Hierarchy::new(4, 2.0)),
        reader(Prefixes::new(2, 2.0)),
        reader(R1::new(8, 1.0, 2.0)),
        reader(R2::new(8, 1.0, 2.0)),
        reader(RInf::new(8, 1.0, 2.0)),
        reader(PrivUnit::new(8, 1.0, 2.0)),
        reader(Ramp::new(8, 1.0, 2.0, None)),
        reader(GaussianVector::new(4, 1.0, 4.0)),
        reader(LaplaceVector::new(4, 1.0, 2.0)),
        reader(MixedGaussian::new(4, 1.0, 4.0, 0.5)),
    ]
});

/// Reads it.
pub(crate) fn run(data: &[u8]) {
    let Some((&which, report)) = data.split_first() else {
        return;
    };
    READERS[usize::from(which) % READERS.len()](report);
}

fn reader<R>(randomizer: Result<R, Error>) -> Reader
where
    R: Randomizer<Tally: PartialEq, Estimate: Debug> + Send + Sync + 'static,
{
    let randomizer = randomizer.expect("the parameters are in range");
    Box::new(move |report| {
        let mut tally = randomizer.tally();
        match randomizer.add(report, &mut tally) {
            Ok(()) => {
                assert_eq!(report.len(), randomizer.report_length());
                let estimate = format!("{:?}", randomizer.estimate(&tally));
                assert!(
                    !estimate.contains("NaN") && !estimate.contains("inf"),
                    "{estimate}"
                );
            }
            Err(error) => {
                assert!(!error.to_string().is_empty());
                assert!(tally == randomizer.tally());
            }
        }
    })
}
