//! Shares as they could be: none negative, one in all.
//!
//! Unbiased estimates of shares stray below 0 and above 1. The nearest point of the simplex, in squares,
//! takes the same amount off every share and puts those that fall below 0 at 0 (Held, Wolfe, Crowder 1974;
//! "norm-sub" in Wang et al. 2020). It is post-processing: free of charge in privacy, closer to the truth on
//! the whole, and no longer without bias for a single share.

/// Moves shares to the nearest ones that are not negative and sum to 1.
///
/// ```
/// use shuffledp_protocol::make_consistent;
/// let mut shares = [0.7, 0.5, -0.1];
/// make_consistent(&mut shares);
/// assert!((shares[0] - 0.6).abs() < 1e-15 && (shares[1] - 0.4).abs() < 1e-15 && shares[2] == 0.0);
/// ```
pub fn make_consistent(shares: &mut [f64]) {
    let mut sorted = shares.to_vec();
    sorted.sort_by(|a, b| b.total_cmp(a));
    // The largest shares stay positive: as many of them as exceed the amount that is taken off each.
    let (mut sum, mut taken) = (0.0, 0.0);
    for (index, share) in sorted.iter().enumerate() {
        sum += share;
        let each = (sum - 1.0) / (index + 1) as f64;
        if share - each <= 0.0 {
            break;
        }
        taken = each;
    }
    for share in shares {
        *share = (*share - taken).max(0.0);
    }
}
