//! The values of a category: as a person lists them, and the order they are shown in.

/// Values between commas, as in a line of a CSV file: a value with a comma stands in quotes.
pub(crate) fn listed(text: &str) -> Vec<String> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes());
    let mut record = csv::StringRecord::new();
    match reader.read_record(&mut record) {
        Ok(true) => record.iter().map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}

/// Puts values in the order of numbers, if all are, and else of letters; a place among them stays with its
/// value.
pub(crate) fn sort(names: &mut [String], places: &mut [u32]) {
    let numbers: Option<Vec<f64>> = names.iter().map(|name| name.parse().ok()).collect();
    let mut order: Vec<usize> = (0..names.len()).collect();
    match numbers {
        Some(numbers) => order.sort_by(|&a, &b| numbers[a].total_cmp(&numbers[b])),
        None => order.sort_by(|&a, &b| names[a].cmp(&names[b])),
    }
    let mut moved = vec![0; names.len()];
    for (new, &old) in order.iter().enumerate() {
        moved[old] = new as u32;
    }
    places
        .iter_mut()
        .for_each(|place| *place = moved[*place as usize]);
    let before = names.to_vec();
    for (name, old) in names.iter_mut().zip(order) {
        name.clone_from(&before[old]);
    }
}
