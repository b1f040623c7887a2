//! Tests of the fuzzer itself, in one binary: linking is the slow part.

mod corpus;
mod scenarios;
