//! `shuffledp man`: the manual page of a command, in roff, from the same text as its `--help`.

use crate::failure::Failure;
use clap::Command;

/// The page of the command that the words name, from `root` down.
pub(crate) fn page(mut root: Command, words: &[String]) -> Result<String, Failure> {
    // Gives every command its full name, such as shuffledp-simulate-histogram.
    root.build();
    let mut command = &root;
    for word in words {
        command = command.find_subcommand(word).ok_or_else(|| {
            let message = format!("{} has no command '{word}'", shown(command));
            Failure::flag("COMMAND", message)
        })?;
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone())
        .render(&mut page)
        .map_err(|error| Failure::unwritten(&error))?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}

fn shown(command: &Command) -> &str {
    command.get_bin_name().unwrap_or_else(|| command.get_name())
}

#[cfg(test)]
mod tests {
    use super::page;
    use clap::{Command, CommandFactory};

    fn words(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    /// The names of all commands below this one.
    fn below(command: &Command, path: &[String], paths: &mut Vec<Vec<String>>) {
        for child in command.get_subcommands() {
            let mut longer = path.to_vec();
            longer.push(child.get_name().to_owned());
            below(child, &longer, paths);
            paths.push(longer);
        }
    }

    #[test]
    fn every_command_has_a_page() {
        let root = crate::Command::command();
        let mut paths = vec![Vec::new()];
        below(&root, &[], &mut paths);
        assert!(paths.contains(&words(&["epsilon"])));
        assert!(paths.contains(&words(&["simulate", "histogram"])));
        for path in paths {
            let page = page(root.clone(), &path).unwrap();
            let name = [words(&["shuffledp"]), path].concat().join("-");
            assert!(page.contains(&format!(".TH {name} 1")), "{name}: {page}");
            assert!(page.contains(".SH SYNOPSIS"), "{name}");
        }
    }

    #[test]
    fn a_page_says_what_the_help_says() {
        let page = page(crate::Command::command(), &words(&["epsilon"])).unwrap();
        for text in [
            "central epsilon of shuffled rounds",
            "\\-\\-epsilon0",
            "\\-\\-delta",
        ] {
            assert!(page.contains(text), "{text}");
        }
    }

    #[test]
    fn a_command_that_is_not_there() {
        let failure = page(crate::Command::command(), &words(&["simulate", "medians"]));
        let said = format!("{:?}", failure.unwrap_err());
        assert!(
            said.contains("shuffledp simulate has no command 'medians'"),
            "{said}"
        );
    }
}
