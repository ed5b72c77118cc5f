//! Your own randomizer: any finite local randomizer is a matrix of probabilities, one row for each value
//! that a person may hold, one column for each report. The accountant prices exactly that matrix.

use shuffledp::{Bound, Channel, Delta, Epsilon, Error, Mechanism, Round, account};

fn main() -> Result<(), Error> {
    // "Yes" and "no" are sensitive, "rather not say" is a report of its own.
    let channel = Channel::new(vec![
        vec![0.6, 0.2, 0.2], // yes
        vec![0.2, 0.6, 0.2], // no
        vec![0.3, 0.3, 0.4], // rather not say
    ])?;
    let epsilon0 = channel.local_epsilon();
    println!("local epsilon0 = {epsilon0:.4}");

    let (users, delta) = (10_000, Delta::new(1e-6)?);
    let upper = |mechanism| -> Result<Bound<Epsilon>, Error> {
        let round = Round::new(mechanism, users)?;
        Ok(account(&round)?.epsilon(delta)?.upper().clone())
    };
    // To be known only by its epsilon0 costs something.
    let known = upper(Mechanism::matrix(channel))?;
    let any = upper(Mechanism::ldp(epsilon0)?)?;
    // A bound is printed with digits on the safe side.
    println!("this matrix: epsilon at most {known}; any randomizer with that epsilon0: {any}");
    assert!(known.get() < any.get());
    Ok(())
}

#[test]
fn runs() -> Result<(), Error> {
    main()
}
