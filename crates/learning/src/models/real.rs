//! The numbers a model computes with: f32 to train with, f64 to check the gradients with.

use std::ops::{Add, AddAssign, Div, Mul, Sub};

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// f32 or f64.
pub trait Real:
    sealed::Sealed
    + Copy
    + Default
    + Send
    + Sync
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + AddAssign
    + From<f32>
    + Into<f64>
    + 'static
{
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;

    /// eˣ.
    fn exp(self) -> Self;

    /// ln x.
    fn ln(self) -> Self;

    /// tanh x.
    fn tanh(self) -> Self;
}

macro_rules! real {
    ($type:ty) => {
        impl Real for $type {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;

            fn exp(self) -> Self {
                self.exp()
            }

            fn ln(self) -> Self {
                self.ln()
            }

            fn tanh(self) -> Self {
                self.tanh()
            }
        }
    };
}

real!(f32);
real!(f64);
