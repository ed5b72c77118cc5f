//! Collect a histogram: 20,000 devices randomize one of five values, a shuffler forgets who sent what,
//! and the analyzer reads shares with intervals. The guarantee that is printed is that of the randomizer
//! that ran.

use shuffledp::protocol::{Attendance, Collection, Confidence};
use shuffledp::randomizers::{KaryResponse, Randomizer, Secure};
use shuffledp::{Delta, Participation, Round, account};
use std::error::Error;
use std::io::Cursor;

fn main() -> Result<(), Box<dyn Error>> {
    let (users, values) = (20_000, ["bus", "car", "bike", "train", "walk"]);
    let randomizer = KaryResponse::new(values.len() as u64, 3.0)?;

    // What it costs, before anybody is asked.
    let round = Round::new(randomizer.mechanism().clone(), users)?;
    let answer = account(&round)?.epsilon(Delta::new(1e-8)?)?;
    println!(
        "epsilon at most {} when {}",
        answer.upper(),
        answer.relation()
    );

    // Everybody sends; here six of ten people go by bus. Reports beyond the memory would go where the
    // last but one argument says; the last one hears of progress.
    let collection = Collection {
        users,
        attendance: Attendance::new(Participation::Everyone, users, 0.0)?,
        memory: 1 << 20,
    };
    let held = |user: u64| if user < users / 2 { 0 } else { user % 5 };
    let open = || Ok(Cursor::new(Vec::new()));
    let analyzer = collection.run(&randomizer, held, |_| Secure::new(), open, |_| ())?;

    // All five intervals are right together, but for one time in a thousand.
    let each = Confidence::new(0.999).ok_or("a confidence is below 1")?;
    let each = each.for_each_of(values.len() as u64);
    let shares = analyzer.estimate().ok_or("nobody sent a report")?;
    for (value, share) in values.iter().zip(shares) {
        let (low, high) = each.around(share);
        println!(
            "{value:>6}: {:.3}, between {low:.3} and {high:.3}",
            share.value
        );
    }
    Ok(())
}

#[test]
fn runs() -> Result<(), Box<dyn Error>> {
    main()
}
