//! Every decoder of every edge on arbitrary bytes; `ipc/tests/corpus.rs` is the same judgement on the stable toolchain.
//! Trust: the input is the fuzzer's.
#![no_main]

use bulkhead_ipc::{
    codec,
    edge::{
        agents::{self, ToAgents},
        audit::{FromAudit, ToAudit},
        dialler::{FromDialler, ToDialler},
        errand::FromErrand,
        gateway::{Exchange, FromGateway, Outcome, ToGateway},
        launcher::{FromLauncher, ToLauncher},
        ledger::{FromHolder, ToHolder},
        note::{self, ToNote},
        read::{Answer, FromRead, ToRead},
        syntax::{self, ToSyntax},
        write::{self, ToWrite},
    },
    frame,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = codec::decode::<ToRead>(bytes);
    let _ = codec::decode::<FromRead>(bytes);
    let _ = codec::decode::<ToLauncher>(bytes);
    let _ = codec::decode::<FromLauncher>(bytes);
    let _ = codec::decode::<ToAudit>(bytes);
    let _ = codec::decode::<FromAudit>(bytes);
    let _ = codec::decode::<ToHolder>(bytes);
    let _ = codec::decode::<FromHolder>(bytes);
    let _ = codec::decode::<ToAgents>(bytes);
    let _ = codec::decode::<FromErrand>(bytes);
    let _ = codec::decode::<ToNote>(bytes);
    let _ = codec::decode::<ToWrite>(bytes);
    let _ = codec::decode_answer::<write::Answer>(bytes);
    let _ = codec::decode::<ToDialler>(bytes);
    let _ = codec::decode::<FromDialler>(bytes);
    let _ = codec::decode::<ToGateway>(bytes);
    let _ = codec::decode::<FromGateway>(bytes);
    let _ = codec::decode_answer::<Exchange>(bytes).map(|exchange| exchange.check());
    let _ = codec::decode_answer::<Outcome>(bytes);
    let _ = codec::decode_answer::<agents::Answer>(bytes);
    let _ = codec::decode_answer::<note::Answer>(bytes);
    let _ = codec::decode::<ToSyntax>(bytes);
    let _ = codec::decode_answer::<syntax::Answer>(bytes);
    let _ = codec::decode_answer::<Answer>(bytes);
    let _ = frame::read(&mut &*bytes);
    let mut assembler = frame::Assembler::default();
    assembler.push(bytes);
    while let Ok(Some(_)) = assembler.take() {}
});
