//! Shuffles so many reports of 32 bytes within 256 MB of memory, on disk: `cargo run --release -p
//! shuffledp-protocol --example many -- 100000000`.

use shuffledp_protocol::Shuffler;
use shuffledp_randomizers::Secure;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let many: u64 = std::env::args()
        .nth(1)
        .map_or(Ok(1_000_000), |n| n.parse())?;
    let start = Instant::now();
    let mut shuffler = Shuffler::new(32, 256 << 20, Secure::new()?, tempfile::tempfile)?;
    let mut report = [0; 32];
    for number in 0..many {
        report[..8].copy_from_slice(&number.to_le_bytes());
        shuffler.push(&report)?;
    }
    println!("gathered in {:.1} s", start.elapsed().as_secs_f64());
    let (mut sum, mut in_place, mut place) = (0u64, 0u64, 0u64);
    shuffler.finish(|report| {
        let mut number = [0; 8];
        number.copy_from_slice(&report[..8]);
        let number = u64::from_le_bytes(number);
        sum = sum.wrapping_add(number);
        in_place += u64::from(number == place);
        place += 1;
    })?;
    println!("shuffled in {:.1} s", start.elapsed().as_secs_f64());
    assert_eq!(sum, (0..many).fold(0, u64::wrapping_add));
    println!("{place} reports, {in_place} of them where they came (about one is usual)");
    Ok(())
}
