//! A first answer: what does the analyzer learn about one person, if a million people answer through any
//! randomizer with epsilon0 = 4 and a shuffler mixes their reports?

use shuffledp::{Error, Mechanism, Round, account};

fn main() -> Result<(), Error> {
    // Who does what: the local guarantee, and how many people might have sent any given report.
    let round = Round::new(Mechanism::ldp(4.0)?, 1_000_000)?;

    // The account knows every bound that applies; it answers for a delta, or for an epsilon.
    let answer = account(&round)?.epsilon(1e-8)?;

    // The upper bound is the guarantee. The lower bound is attained by some randomizer of this class.
    // Printed, both are rounded to the safe side, and the change that they are about is named.
    println!("epsilon at delta = 1e-8 is {answer}");
    assert_eq!(answer.upper().to_string(), "0.0450730");
    assert_eq!(answer.lower().to_string(), "0.0446535");
    Ok(())
}

#[test]
fn runs() -> Result<(), Error> {
    main()
}
