//! Draws pictures: series as lines, upper and lower bounds as bands, in SVG or PNG. The only module that
//! names the plotting library.
//!
//! Colors are those of Okabe and Ito, which people of every color vision can tell apart; each line also has a
//! dash of its own, for printing without color.

use crate::Error;
use crate::picture::{Axis, Kind, Picture, Scale};
use crate::series::{Look, Series, Sheet};
use kuva::backend::png::PngBackend;
use kuva::backend::svg::SvgBackend;
use kuva::plot::legend::{LegendEntry, LegendPosition, LegendShape};
use kuva::plot::line::LineStyle;
use kuva::plot::scatter::MarkerShape;
use kuva::plot::{BandPlot, LinePlot, ScatterPlot};
use kuva::render::layout::{Layout, TickFormat};
use kuva::render::plots::Plot;
use kuva::render::render::{Scene, render_multiple};
use shuffledp::Side;
use std::sync::Arc;

/// Blue is for bands, the rest in the order in which they are told apart best.
const COLORS: [&str; 7] = [
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#E69F00", "#56B4E9",
];
/// Dashes and gaps of lines, in the units of SVG.
const DASHES: [&str; 5] = ["8 3", "2 3", "8 3 2 3", "4 2", "8 2 2 2 2 2"];
/// Shapes of marks, those first that cover least.
const MARKERS: [MarkerShape; 6] = [
    MarkerShape::Cross,
    MarkerShape::Plus,
    MarkerShape::Triangle,
    MarkerShape::Square,
    MarkerShape::Diamond,
    MarkerShape::Circle,
];
/// Marks over words stand beside each other, in parts of the room of a word: where there are few words …
const BESIDE: f64 = 0.12;
/// … and where there are many.
const FAR_BESIDE: f64 = 0.27;
/// Decades that have room for a number each.
const DECADES: f64 = 12.0;
/// With more decades than this for a number, lines at each would fill the picture.
const SPARSE: i32 = 3;
/// Width of a picture, in the units of SVG: that of a column of text.
const WIDTH: f64 = 680.0;
/// Without the legend, which has a line for each series.
const HEIGHT: f64 = 400.0;
/// Height of a line of the legend at its size of letters.
const LEGEND_LINE: f64 = 17.0;
/// So many letters fit beside each other under the horizontal axis; more words than that are turned …
const LETTERS: usize = 90;
/// … by this many degrees, and the picture is higher by so much.
const SLOPE: f64 = -60.0;
const TURNED: f64 = 110.0;
/// Labels up to this long stand in two columns.
const HALF_WIDTH: usize = 40;

impl Axis {
    /// Whether it has more words than fit beside each other.
    fn is_crowded(&self) -> bool {
        match &self.scale {
            Scale::Words(words) => {
                let letters = words.iter().map(|word| word.chars().count() + 1);
                letters.sum::<usize>() > LETTERS
            }
            Scale::Linear | Scale::Log => false,
        }
    }

    /// Values are drawn in units of a power of ten. The library takes everything below 1e-10 on a logarithmic
    /// axis for 1e-10, so there the least value is 1 to 10; on a linear axis it is the largest, where that is
    /// far from 1.
    fn unit(&self, values: &[f64]) -> i32 {
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(0.0, f64::max);
        match self.scale {
            Scale::Log if least.is_finite() => (least.log10().floor() as i32).max(-300),
            Scale::Linear if most > 0.0 && !(1e-3..1e6).contains(&most) => {
                (most.log10().floor() as i32).max(-300)
            }
            _ => 0,
        }
    }

    /// On a logarithmic axis, every how many decades there is room for a number.
    fn stride(&self, values: &[f64]) -> i32 {
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(0.0, f64::max);
        if self.scale != Scale::Log || !(least > 0.0 && most > least) {
            return 1;
        }
        ((most.log10() - least.log10()) / DECADES).ceil().max(1.0) as i32
    }
}

impl Kind {
    /// A dash as the library takes it: in PNG it draws lines at twice the size and dashes at once.
    fn dash(self, dash: &str) -> String {
        let factor = match self {
            Self::Svg => 1.0,
            Self::Png => 2.5,
        };
        let parts: Vec<String> = dash
            .split(' ')
            .map(|part| (factor * part.parse::<f64>().unwrap_or(1.0)).to_string())
            .collect();
        parts.join(" ")
    }
}

impl Picture {
    /// The bytes of a file.
    pub fn draw(&self, sheet: &Sheet, kind: Kind) -> Result<Vec<u8>, Error> {
        let scene = self.scene(sheet, kind);
        match kind {
            Kind::Svg => Ok(renumbered(&SvgBackend::default().render_scene(&scene)).into_bytes()),
            Kind::Png => PngBackend::new()
                .render_scene(&scene)
                .map_err(|error| Error::NotDrawn(error.to_string())),
        }
    }

    fn scene(&self, sheet: &Sheet, kind: Kind) -> Scene {
        let drawn = sheet.series.iter().filter(|s| s.look != Look::Hidden);
        let values: Vec<f64> = drawn
            .flat_map(|series| series.values.iter().filter_map(|v| self.shown(*v)))
            .collect();
        let units = (self.x.unit(&sheet.at), self.y.unit(&values));
        let scales = (10f64.powi(-units.0), 10f64.powi(-units.1));
        let place = |(x, y): (f64, f64)| (x * scales.0, y * scales.1);
        let mut plots = self.bands(sheet, scales);
        let mut legend = Vec::new();
        let bands = sheet.series.iter().filter_map(|series| match series.look {
            Look::Band(band) => Some(band + 1),
            _ => None,
        });
        let bands = bands.max().unwrap_or(0);
        let (mut lines, mut marks) = (0, 0);
        // Beside each other only where nothing else is drawn: marks on lines stay on them.
        let marked = |series: &&Series| series.look == Look::Marks;
        let seen = |series: &&Series| !matches!(series.look, Look::Hidden | Look::Whisker);
        let beside = if sheet
            .series
            .iter()
            .filter(seen)
            .all(|s| s.look == Look::Marks)
        {
            sheet.series.iter().filter(marked).count()
        } else {
            0
        };
        for (index, series) in sheet.series.iter().enumerate() {
            let runs: Vec<Vec<(f64, f64)>> = self
                .points(sheet, series)
                .into_iter()
                .map(|run| run.into_iter().map(place).collect())
                .collect();
            // A bound that holds nowhere here has nothing to show.
            if runs.is_empty() || matches!(series.look, Look::Hidden | Look::Whisker) {
                continue;
            }
            let (color, dash) = match series.look {
                Look::Band(band) => {
                    let dash = (series.side == Side::Lower).then_some("4 3");
                    (COLORS[band % COLORS.len()], dash)
                }
                Look::Line | Look::Path => {
                    // The colors that no band has.
                    let free = &COLORS[bands.clamp(1, COLORS.len() - 1)..];
                    lines += 1;
                    (
                        free[(lines - 1) % free.len()],
                        Some(DASHES[(lines - 1) % DASHES.len()]),
                    )
                }
                Look::Marks | Look::Whisker | Look::Hidden => {
                    (COLORS[(4 + marks) % COLORS.len()], None)
                }
            };
            let dash = dash.map(|dash| kind.dash(dash));
            let shape = if series.look == Look::Marks {
                let marker = MARKERS[marks % MARKERS.len()];
                let shift = match self.x.scale {
                    Scale::Words(_) if beside > 1 => {
                        let apart = match self.x.is_crowded() {
                            true => FAR_BESIDE,
                            false => BESIDE,
                        };
                        apart * (marks as f64 - 0.5 * (beside - 1) as f64)
                    }
                    _ => 0.0,
                };
                marks += 1;
                let reaches = whiskers(sheet, index, scales.1);
                let mut points = ScatterPlot::new()
                    .with_data(runs.into_iter().flatten().map(|(x, y)| (x + shift, y)))
                    .with_color(color)
                    .with_size(4.5)
                    .with_marker(marker);
                if !reaches.is_empty() {
                    points = points.with_y_err_asymmetric(reaches);
                }
                plots.push(Plot::Scatter(points));
                LegendShape::Marker(marker)
            } else {
                let style = dash.clone().map_or(LineStyle::Solid, LineStyle::Custom);
                plots.extend(runs.into_iter().map(|run| {
                    if run.len() == 1 {
                        // A line of one point cannot be seen.
                        let dot = ScatterPlot::new().with_data(run).with_color(color);
                        return Plot::Scatter(dot.with_size(2.5));
                    }
                    let line = LinePlot::new().with_data(run).with_color(color);
                    Plot::Line(line.with_stroke_width(1.8).with_line_style(style.clone()))
                }));
                LegendShape::Line
            };
            legend.push(LegendEntry {
                label: series.label(),
                color: color.to_owned(),
                shape,
                dasharray: dash,
            });
        }
        let stride = (self.x.stride(&sheet.at), self.y.stride(&values));
        let tick = |axis: &Axis, unit: i32, stride: i32| {
            let log = axis.scale == Scale::Log;
            TickFormat::Custom(Arc::new(move |value| match (log, unit) {
                (true, _) => power(value, unit, stride),
                (false, 0) => short(value),
                (false, _) if value == 0.0 => "0".to_owned(),
                (false, _) => format!("{}·10{}", short(value), raised(unit)),
            }))
        };
        let long = |entry: &LegendEntry| entry.label.chars().count() > HALF_WIDTH;
        let columns = if legend.iter().any(long) { 1 } else { 2 };
        let lines = legend.len().div_ceil(columns) as f64;
        let turned = if self.x.is_crowded() { TURNED } else { 0.0 };
        let mut layout = Layout::auto_from_plots(&plots)
            .with_width(WIDTH)
            .with_height(HEIGHT + lines * LEGEND_LINE + turned)
            .with_legend_entries(legend)
            .with_clamp_axis()
            .with_legend_col_limit(columns)
            .with_title(&self.title)
            .with_title_size(15)
            .with_subtitle(&self.subtitle)
            .with_subtitle_size(11)
            .with_subtitle_wrap(100)
            .with_x_label(&self.x.label)
            .with_y_label(&self.y.label)
            .with_label_size(13)
            .with_tick_size(11)
            .with_body_size(11)
            .with_legend_box(false)
            .with_legend_position(LegendPosition::OutsideBottomColumns)
            .with_font_family("DejaVu Sans, Verdana, sans-serif")
            .with_x_tick_format(tick(&self.x, units.0, stride.0))
            .with_y_tick_format(tick(&self.y, units.1, stride.1))
            .with_show_grid(stride.0.max(stride.1) <= SPARSE);
        match &self.x.scale {
            Scale::Words(words) => {
                layout = layout
                    .with_x_categories(words.clone())
                    .with_x_axis_min(0.5)
                    .with_x_axis_max(words.len() as f64 + 0.5);
                if self.x.is_crowded() {
                    layout = layout.with_x_tick_rotate(SLOPE);
                }
            }
            scale => {
                if *scale == Scale::Log {
                    layout = layout.with_log_x();
                }
                // Both ends of the horizontal axis, and no further.
                let ends = (sheet.at.first(), sheet.at.last());
                if let (Some(first), Some(last)) = ends {
                    layout = layout
                        .with_x_axis_min(first * scales.0)
                        .with_x_axis_max(last * scales.0);
                }
            }
        }
        if self.y.scale == Scale::Log {
            layout = layout.with_log_y();
        } else {
            let least = values.iter().copied().fold(f64::INFINITY, f64::min);
            let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let estimated = sheet.series.iter().any(|s| s.look == Look::Whisker);
            // A quantity may lie far from 0; a bound or a share is seen against it.
            if !(estimated && least > 0.5 * most) {
                layout = layout.with_y_axis_min(1.05 * least.min(0.0) * scales.1);
            }
        }
        render_multiple(plots, layout)
    }

    /// What the axis can show.
    fn shown(&self, value: Option<f64>) -> Option<f64> {
        let log = self.y.scale == Scale::Log;
        let (least, most) = self.within;
        value.filter(|value| (!log || *value > 0.0) && (least..=most).contains(value))
    }

    /// The unbroken runs of a series.
    fn points(&self, sheet: &Sheet, series: &Series) -> Vec<Vec<(f64, f64)>> {
        let mut runs = vec![Vec::new()];
        for (at, value) in sheet.at.iter().zip(&series.values) {
            match (self.shown(*value), runs.last_mut()) {
                (Some(value), Some(run)) => run.push((*at, value)),
                (None, _) if series.look == Look::Path => {}
                _ => runs.push(Vec::new()),
            }
        }
        runs.retain(|run| !run.is_empty());
        runs
    }

    /// The areas between the ends of each band, in unbroken runs.
    fn bands(&self, sheet: &Sheet, (x, y): (f64, f64)) -> Vec<Plot> {
        let end = |band: usize, side: Side| {
            let mut all = sheet.series.iter();
            all.find(|series| series.look == Look::Band(band) && series.side == side)
        };
        let mut areas = Vec::new();
        for band in 0..sheet.series.len() {
            let (Some(upper), Some(lower)) = (end(band, Side::Upper), end(band, Side::Lower))
            else {
                continue;
            };
            let mut runs = vec![Vec::new()];
            for (row, at) in sheet.at.iter().enumerate() {
                let (low, high) = (self.shown(lower.value(row)), self.shown(upper.value(row)));
                match (low, high, runs.last_mut()) {
                    (Some(low), Some(high), Some(run)) => run.push((x * at, y * low, y * high)),
                    _ => runs.push(Vec::new()),
                }
            }
            for run in runs.iter().filter(|run| run.len() > 1) {
                let area = BandPlot::new(
                    run.iter().map(|point| point.0),
                    run.iter().map(|point| point.1),
                    run.iter().map(|point| point.2),
                );
                let color = COLORS[band % COLORS.len()];
                areas.push(Plot::Band(area.with_color(color).with_opacity(0.22)));
            }
        }
        areas
    }
}

/// How far the bars of marks reach below and above them, where every mark has one.
fn whiskers(sheet: &Sheet, marks: usize, scale: f64) -> Vec<(f64, f64)> {
    let end = |side: Side| {
        let mut after = sheet.series[marks + 1..].iter();
        after
            .by_ref()
            .take_while(|series| series.look == Look::Whisker)
            .find(|series| series.side == side)
    };
    let (Some(low), Some(high)) = (end(Side::Lower), end(Side::Upper)) else {
        return Vec::new();
    };
    let rows = sheet.series[marks]
        .values
        .iter()
        .zip(&low.values)
        .zip(&high.values);
    let reaches: Option<Vec<(f64, f64)>> = rows
        .filter(|((mark, _), _)| mark.is_some())
        .map(|((mark, low), high)| {
            let (mark, low, high) = ((*mark)?, (*low)?, (*high)?);
            Some((scale * (mark - low), scale * (high - mark)))
        })
        .collect();
    reaches.unwrap_or_default()
}

/// The library counts clip paths over all pictures that a process draws; here each picture counts from zero,
/// so that it does not depend on the others.
fn renumbered(svg: &str) -> String {
    const MARK: &str = "kuva-clip-";
    let mut seen: Vec<&str> = Vec::new();
    let mut parts = svg.split(MARK);
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| !c.is_ascii_digit());
        let (number, rest) = part.split_at(end.unwrap_or(part.len()));
        let index = seen.iter().position(|known| *known == number);
        let index = index.unwrap_or_else(|| {
            seen.push(number);
            seen.len() - 1
        });
        text += &format!("{MARK}{index}{rest}");
    }
    text + "\n"
}

/// A tick on a logarithmic axis in units of 10^unit: 0.01, 1, 500, 10⁶, 2·10⁻⁸; nothing where the exponent is
/// no multiple of `stride`.
fn power(value: f64, unit: i32, stride: i32) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let within = (value.abs().log10() + 1e-9).floor() as i32;
    let (exponent, mantissa) = (within + unit, value / 10f64.powi(within));
    if exponent % stride != 0 {
        return String::new();
    }
    if (-2..4).contains(&exponent) {
        return short(mantissa * 10f64.powi(exponent));
    }
    let raised = raised(exponent);
    if (mantissa - 1.0).abs() < 1e-6 {
        format!("10{raised}")
    } else {
        format!("{}·10{raised}", short(mantissa))
    }
}

/// An exponent.
fn raised(exponent: i32) -> String {
    format!("{exponent}")
        .chars()
        .map(|digit| match digit {
            '-' => '⁻',
            '1' => '¹',
            '2' => '²',
            '3' => '³',
            digit => char::from_u32('⁰' as u32 + digit.to_digit(10).unwrap_or(0)).unwrap_or(digit),
        })
        .collect()
}

/// As few digits as say it.
fn short(value: f64) -> String {
    let rounded = format!("{value:.6}");
    let text = rounded.trim_end_matches('0').trim_end_matches('.');
    let text = if text == "-0" { "0" } else { text };
    if value != 0.0 && (text == "0" || value.abs() >= 1e6) {
        format!("{value:e}")
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::{power, short};

    #[test]
    fn ticks_read_well() {
        assert_eq!(
            [1e-8, 2e6, 0.01, 500.0, 1.0, 1e12].map(|value| power(value, 0, 1)),
            ["10⁻⁸", "2·10⁶", "0.01", "500", "1", "10¹²"]
        );
        assert_eq!(
            [1.0, 200.0, 1e12].map(|value| power(value, -12, 1)),
            ["10⁻¹²", "2·10⁻¹⁰", "1"]
        );
        assert_eq!(
            [1.0, 10.0, 100.0].map(|value| power(value, -20, 2)),
            ["10⁻²⁰", "", "10⁻¹⁸"]
        );
        assert_eq!(
            [0.0, 0.25, 100.0, 1e-9].map(short),
            ["0", "0.25", "100", "1e-9"]
        );
    }
}
