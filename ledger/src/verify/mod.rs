//! x
//! Trust: x
