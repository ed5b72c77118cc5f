//! A first answer: what does the analyzer learn about one person, if a million people answer through any
//! randomizer with epsilon0 = 4 and a shuffler mixes their reports?

use shuffledp::{Delta, Error, Mechanism, Round, account};

fn main() -> Result<(), Error> {
    // Who does what: the local guarantee, and how many people might have sent any given report.
    let round = Round::new(Mechanism::ldp(4.0)?, 1_000_000)?;

    // The account knows every bound that applies; it answers for a delta, or for an epsilon.
    let answer = account(&round)?.epsilon(Delta::new(1e-8)?)?;

    // The upper bound is the guarantee. The lower bound is attained by some randomizer of this class.
    let (upper, lower) = (answer.upper.value.value(), answer.lower.value.value());
    println!(
        "(epsilon, 1e-8)-differentially private with epsilon between {lower:.6} and {upper:.6}"
    );
    assert!(0.0446 < lower && lower < upper && upper < 0.0451);
    Ok(())
}

#[test]
fn runs() -> Result<(), Error> {
    main()
}
