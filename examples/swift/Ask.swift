// Asks a language model a question and prints its answer as it comes, by the C interface:
//
//   swiftc -I include -L build -lloom examples/swift/Ask.swift -o ask && ./ask MODEL "What is the capital of France?"
//
// include/module.modulemap makes loom.h the module Loom. In Xcode, add Loom.xcframework of tools/xcframework.sh.

import Foundation
import Loom

func check(_ status: loom_status) {
    guard status != LOOM_OK else { return }
    let words = "ask: \(String(cString: loom_status_name(status))): \(String(cString: loom_last_error()))\n"
    FileHandle.standardError.write(Data(words.utf8))
    exit(1)
}

let given = CommandLine.arguments
guard given.count == 3 else { fatalError("usage: ask MODEL QUESTION") }
var model: loom_model = 0, session: loom_session = 0, generator: loom_generator = 0
check(loom_model_open(given[1], nil, &model))
check(loom_session_create(model, nil, &session))
check(loom_generator_from_text(session, given[2], given[2].utf8.count, LOOM_PROMPT_AUTO, nil, &generator))
var step = loom_step()
step.struct_size = UInt32(MemoryLayout<loom_step>.size)
repeat {
    check(loom_generator_next(generator, 0, &step))
    if let text = step.text { FileHandle.standardOutput.write(Data(bytes: text, count: step.text_size)) }
} while step.stop == LOOM_STOP_NOT_YET
var answer = loom_generation()
answer.struct_size = UInt32(MemoryLayout<loom_generation>.size)
check(loom_generator_result(generator, &answer))
let hash = withUnsafeBytes(of: answer.hash) { $0.prefix(8).map { String(format: "%02x", $0) }.joined() }
print("\nhash \(hash)")
[generator, session, model].forEach { check(loom_release($0)) }
