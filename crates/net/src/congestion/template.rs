//! Template for a congestion control: NewReno with another part of the window after a loss.
//!
//! `python -m docs.generator.new congestion-control NAME` copies this file.

use super::{
    About, Ack, Controller, Decrease, IncreaseRule, NewReno, Opening, Parameters, Sender, Window,
};
use crate::Model;
use afflux_config::keys;

keys! {
    /// Parameters of Template.
    pub struct Keys as "Template" => TemplateConfig(_sender: &Sender) {
        /// Part of the window that remains after a loss, 0.1 to 0.9.
        beta: f64 = 0.5 from "RFC 5681", in 0.1 to 0.9;
    }
}

impl TemplateConfig {
    pub fn start<C: From<Template>>(&self, _: Opening) -> C {
        Template { beta: self.beta }.into()
    }
}

impl Parameters for TemplateConfig {
    fn about(&self) -> About {
        ABOUT
    }
    fn window_response(&self, payload: f64) -> (Decrease, IncreaseRule) {
        let decrease = Decrease { part: 1.0 - self.beta, ..Decrease::default() };
        (decrease, IncreaseRule::PerRoundTrip(payload))
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Template {
    beta: f64,
}

impl Controller for Template {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        NewReno.on_ack(window, ack);
    }

    /// Returns `beta * cwnd`, at least two segments.
    fn on_loss(&mut self, window: &Window, _: u64) -> u32 {
        ((f64::from(window.cwnd) * self.beta) as u32).max(2)
    }
}

pub const ABOUT: About = About::of(MODEL);

pub const MODEL: Model = Model {
    kind: "congestion control",
    name: "template",
    source: "RFC 5681",
    faithful: "a loss leaves a chosen part of the window",
    simplified: "-",
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_leaves_beta_of_the_window() {
        let mut control = Template { beta: 0.7 };
        let window = |cwnd| Window { cwnd, credit: 0, ssthresh: u32::MAX, limit: u32::MAX };
        assert_eq!(control.on_loss(&window(100), 0), 70);
        assert_eq!(control.on_loss(&window(2), 0), 2);
    }
}
