//! Whose examples are whose, and how often each user takes part.
//!
//! A user's examples stand one after the other. Privacy is about users: a gradient is the mean over all
//! examples of one user, clipped as one, and one report is sent for it.

use crate::error::Error;
use std::ops::Range;

/// The users behind some examples: one each, unless they are said to have several.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Owners {
    /// Where each user's examples end; none where everybody has one.
    ends: Option<Vec<usize>>,
    /// Everybody's own probability of taking part in a round.
    rates: Option<Vec<f64>>,
}

impl Owners {
    /// Users of so many examples each, one after the other.
    pub(super) fn of_sizes(sizes: &[usize], examples: usize) -> Result<Self, Error> {
        let refuse = |why| Err(Error::Examples { why });
        let mut ends = Vec::with_capacity(sizes.len());
        let mut end = 0usize;
        for (user, &size) in sizes.iter().enumerate() {
            if size == 0 {
                return refuse(format!("user {user} has none"));
            }
            end = end.saturating_add(size);
            ends.push(end);
        }
        if end != examples {
            return refuse(format!("users have {end} of {examples} examples"));
        }
        Ok(Self {
            ends: (sizes.len() < examples).then_some(ends),
            rates: None,
        })
    }

    /// The same users with a rate for each.
    pub(super) fn with_rates(self, rates: Vec<f64>, examples: usize) -> Result<Self, Error> {
        let users = self.users(examples);
        if rates.len() != users {
            let why = format!(
                "{} rates are not one for each of {users} users",
                rates.len()
            );
            return Err(Error::Examples { why });
        }
        if let Some(user) = rates.iter().position(|rate| !(*rate > 0.0 && *rate <= 1.0)) {
            let why = format!("rate {} of user {user} is outside (0, 1]", rates[user]);
            return Err(Error::Examples { why });
        }
        Ok(Self {
            rates: Some(rates),
            ..self
        })
    }

    pub(super) fn users(&self, examples: usize) -> usize {
        self.ends.as_ref().map_or(examples, Vec::len)
    }

    /// The places of a user's examples; empty beyond the last user.
    pub(super) fn examples_of(&self, user: usize, examples: usize) -> Range<usize> {
        match &self.ends {
            None => user.min(examples)..(user + 1).min(examples),
            Some(ends) => {
                let start = match user.checked_sub(1) {
                    None => 0,
                    Some(before) => ends.get(before).copied().unwrap_or(examples),
                };
                start..ends.get(user).copied().unwrap_or(examples)
            }
        }
    }

    /// Where each user's examples end, if anybody has several.
    pub(super) fn ends(&self) -> Option<&[usize]> {
        self.ends.as_deref()
    }

    pub(super) fn rates(&self) -> Option<&[f64]> {
        self.rates.as_deref()
    }
}
