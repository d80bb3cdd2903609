//! The process that speaks MCP and may do nothing else.
//! Trust: standard input comes from an agent and is hostile; workers are treated as taken over.
#![forbid(unsafe_code)]

pub mod audit;
pub mod backoff;
pub mod carrier;
pub mod company;
pub mod control;
pub mod direct;
pub mod doctor;
pub mod errands;
pub mod fleet;
pub mod gateway;
pub mod hiding;
pub mod lockdown;
pub mod log;
pub mod mcp;
pub mod outcome;
pub mod plan;
pub mod poison;
pub mod pool;
pub mod proposals;
pub mod reads;
pub mod recent;
pub mod route;
pub mod safety;
pub mod semantic;
pub mod settings;
pub mod start;
pub mod work;
pub mod worker;
