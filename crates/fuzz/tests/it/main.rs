//! Tests of the fuzzer itself. They share one binary, because linking is the slow part.

mod corpus;
mod scenarios;
