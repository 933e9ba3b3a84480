//! Language models and encoders, with the model of the README.

use std::path::PathBuf;
use std::time::Duration;
use welvet::{Cancel, Code, Encoder, LoadOptions, Message, Options, Prompt, StopReason, Tokenizer, LM};

const QUESTION: &str = "What is the capital of France?";
const ANSWER: &str = "The capital of France is Paris.";
const HASH: &str = "99554f0d"; // of the README

fn data(name: &str) -> PathBuf {
    let folder = std::env::var("LOOM_DATA").expect("LOOM_DATA is not set: tools/fetch_data.sh fills that folder");
    PathBuf::from(folder).join(name)
}

fn lm() -> LM {
    LM::open(data("llm/SmolLM2-135M-Instruct.Q4_1.gguf")).unwrap()
}

fn most(max_tokens: u64) -> Options {
    Options {
        max_tokens: Some(max_tokens),
        ..Default::default()
    }
}

#[test]
fn the_answer_of_the_readme_whole_and_in_pieces() {
    let lm = lm();
    let answer = lm.generate(QUESTION, &Options::default()).unwrap();
    assert_eq!(answer.text, ANSWER);
    assert!(answer.hash.starts_with(HASH), "{}", answer.hash);
    assert_eq!(answer.stop_reason, StopReason::Eos);
    let mut stream = lm.stream(QUESTION, &Options::default()).unwrap();
    let pieces: Vec<String> = stream.by_ref().collect::<Result<_, _>>().unwrap();
    assert!(pieces.len() > 3, "{pieces:?}");
    assert_eq!(pieces.concat(), ANSWER);
    assert_eq!(stream.result().unwrap().hash, answer.hash);
    let messages = [Message::new("user", QUESTION)];
    let asked = lm.generate(&messages, &Options::default()).unwrap();
    assert_eq!(asked.hash, answer.hash);
}

#[test]
fn options_reach_the_library() {
    let lm = lm();
    let raw = Options {
        form: welvet::Form::Raw,
        seed: 7,
        temperature: 0.8,
        logprobs: 2,
        ..most(6)
    };
    let first = lm.generate("Once upon a time", &raw).unwrap();
    assert_eq!(first.ids.len(), 6);
    assert_eq!(first.stop_reason, StopReason::Length);
    assert!(first.logprobs.as_deref().unwrap().starts_with("[{"));
    assert_eq!(lm.generate("Once upon a time", &raw).unwrap().hash, first.hash);
    let stopped = Options {
        stop: vec!["France".into()],
        ..Default::default()
    };
    let cut = lm.generate(QUESTION, &stopped).unwrap();
    assert_eq!(
        (cut.text.as_str(), cut.stop_reason),
        ("The capital of ", StopReason::Text)
    );
    let nothing = lm.generate(QUESTION, &most(0)).unwrap();
    assert_eq!((nothing.ids.len(), nothing.prompt_tokens > 0), (0, true));
    let wrong = Options {
        top_p: 0.,
        ..Default::default()
    };
    let error = lm.generate(QUESTION, &wrong).unwrap_err();
    assert_eq!(
        (error.code(), error.text()),
        (Code::InvalidArgument, "top_p is 0: it must not be")
    );
}

#[test]
fn chats_remember() {
    let lm = lm();
    let mut chat = lm.chat(Some("You are brief."), &most(20)).unwrap();
    let first = chat.say("My name is Ada.").unwrap();
    let second = chat.say("What is my name?").unwrap();
    let said = [
        Message::new("system", "You are brief."),
        Message::new("user", "My name is Ada."),
        Message::new("assistant", first.text),
        Message::new("user", "What is my name?"),
    ];
    assert_eq!(lm.generate(&said, &most(20)).unwrap().text, second.text);
    let folder = std::env::temp_dir().join(format!("welvet-chat-{}.json", std::process::id()));
    chat.save(&folder).unwrap();
    let messages = chat.messages().unwrap();
    chat.rewind(1).unwrap();
    assert!(!chat.messages().unwrap().contains("Ada"));
    chat.load(&folder).unwrap();
    std::fs::remove_file(&folder).unwrap();
    assert_eq!(chat.messages().unwrap(), messages);
    let mut stream = chat.stream("Count to one hundred.").unwrap();
    stream.next().unwrap().unwrap();
    drop(stream); // ends the answer, which joins the conversation
    let count = chat.messages().unwrap().matches("\"role\"").count();
    assert_eq!(count, 7, "system, three questions, three answers");
}

#[test]
fn sessions_read_tokens_once() {
    let lm = lm();
    let tokenizer = lm.tokenizer().unwrap();
    let ids = tokenizer.encode("Once upon a").unwrap();
    let mut session = lm.session().unwrap();
    let logits = session.feed(&ids, None).unwrap();
    assert_eq!(logits.len() as u64, tokenizer.vocab_size().unwrap());
    let best = (0..logits.len())
        .max_by(|&a, &b| logits[a].total_cmp(&logits[b]))
        .unwrap();
    assert_eq!(tokenizer.decode(&[best as i32], true).unwrap(), " time");
    assert_eq!(session.tokens().unwrap(), ids);
    session.rewind(1).unwrap();
    assert_eq!(session.tokens().unwrap(), ids[..1]);
}

#[test]
fn tokenizers_go_there_and_back() {
    let tokenizer = Tokenizer::open(data("llm/SmolLM2-135M-Instruct.Q4_1.gguf")).unwrap();
    let ids = tokenizer.encode("Grüße, 世界!").unwrap();
    assert_eq!(tokenizer.decode(&ids, true).unwrap(), "Grüße, 世界!");
    let end = tokenizer.id_of("<|im_end|>").unwrap().unwrap();
    assert_eq!(tokenizer.token(end).unwrap(), "<|im_end|>");
    assert_eq!(tokenizer.encode("<|im_end|>").unwrap(), [end]);
    assert!(tokenizer.encode_with("<|im_end|>", false, false).unwrap().len() > 1);
    assert_eq!(tokenizer.id_of("no such token").unwrap(), None);
}

#[test]
fn encoders_embed() {
    let mut encoder = Encoder::open(data("minilm")).unwrap();
    let both = encoder.embed(&["It rains.", "The sun shines."]).unwrap();
    assert_eq!(both.shape(), [2, 384]);
    let alone = encoder.embed(&["The sun shines."]).unwrap();
    assert_eq!(alone.row(0), both.row(1));
    let length: f32 = alone.row(0).iter().map(|value| value * value).sum();
    assert!((length - 1.).abs() < 1e-4, "{length}");
}

#[test]
fn answers_end_at_any_moment() {
    let lm = lm();
    for milliseconds in [0, 1, 5, 20, 60, 150] {
        let cancel = Cancel::new().unwrap();
        let options = Options {
            cancel: Some(cancel.clone()),
            ignore_eos: true,
            ..most(100_000)
        };
        let asked = lm.clone();
        let answer = std::thread::spawn(move || asked.generate(QUESTION, &options));
        std::thread::sleep(Duration::from_millis(milliseconds));
        cancel.cancel();
        let answer = answer.join().unwrap().unwrap();
        assert_eq!(answer.stop_reason, StopReason::Cancelled, "after {milliseconds} ms");
    }
    let cancel = Cancel::new().unwrap();
    cancel.cancel();
    let options = LoadOptions {
        cancel: Some(cancel.clone()),
        ..Default::default()
    };
    let path = data("llm/SmolLM2-135M-Instruct.Q4_1.gguf");
    assert_eq!(
        LM::open_with(&path, &options, |_| true).unwrap_err().code(),
        Code::Cancelled
    );
    cancel.reset();
    LM::open_with(&path, &options, |_| true).unwrap();
    let mut session = lm.session().unwrap();
    cancel.cancel();
    assert_eq!(
        session.feed(&[1, 2, 3], Some(&cancel)).unwrap_err().code(),
        Code::Cancelled
    );
}

#[test]
fn streams_move_to_other_threads() {
    let mut stream = lm().stream(QUESTION, &Options::default()).unwrap();
    let first = stream.next().unwrap().unwrap();
    let rest = std::thread::spawn(move || stream.finish().unwrap().text)
        .join()
        .unwrap();
    assert!(rest.starts_with(&first));
    assert_eq!(rest, ANSWER);
}

#[test]
fn threads_share_a_model() {
    let lm = lm();
    let hashes: Vec<String> = std::thread::scope(|scope| {
        let asked: Vec<_> = (0..3)
            .map(|_| scope.spawn(|| lm.generate(QUESTION, &most(4)).unwrap().hash))
            .collect();
        asked.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(hashes.iter().all(|hash| *hash == hashes[0]));
}

#[test]
fn errors_have_code_and_text() {
    let missing = LM::open("no/such/model.gguf").unwrap_err();
    assert_eq!(missing.code(), Code::NotFound);
    assert_eq!(
        missing.to_string(),
        "NotFound: no/such/model.gguf: no such file or folder"
    );
    let fetched = LM::open("someone/no-such-model").unwrap_err();
    assert!(
        fetched
            .text()
            .ends_with("to fetch it: hf download someone/no-such-model"),
        "{fetched}"
    );
    assert_eq!(LM::open(file!()).err().map(|_| ()), Some(()));
    let wrong = LM::from_bytes(b"not a model", &LoadOptions::default()).unwrap_err();
    assert!(!wrong.text().is_empty());
    assert_eq!(LM::open("a\0b").unwrap_err().code(), Code::NotFound);
    let lm = lm();
    let outside = lm.generate(Prompt::Ids(&[-5]), &Options::default()).unwrap_err();
    assert!(outside.text().contains("-5"), "{outside}");
}

#[test]
fn progress_may_cancel_or_panic() {
    let path = data("llm/SmolLM2-135M-Instruct.Q4_1.gguf");
    let mut parts = Vec::new();
    LM::open_with(&path, &LoadOptions::default(), |part| {
        parts.push(part);
        true
    })
    .unwrap();
    assert!(
        parts.len() > 1 && parts.windows(2).all(|pair| pair[0] <= pair[1]),
        "{parts:?}"
    );
    assert!(parts[0] >= 0. && parts[parts.len() - 1] <= 1., "{parts:?}");
    let refused = LM::open_with(&path, &LoadOptions::default(), |_| false).unwrap_err();
    assert_eq!(refused.code(), Code::Cancelled);
    let panic = std::panic::catch_unwind(|| LM::open_with(&path, &LoadOptions::default(), |_| panic!("mine")));
    assert_eq!(panic.unwrap_err().downcast_ref::<&str>(), Some(&"mine"));
}
