#pragma once
// The one reader of JSON objects. Members go into the fields that a config visits; what cannot be read is a complaint
// with a JSON pointer (RFC 6901): "/layers/3/num_heads: expected an integer from 1 to 65536, got 0". A missing key
// leaves the default, a key that nobody asked for is refused with the nearest ones.

#include <set>

#include "core/config_visitor.h"

namespace loom {

// Collects the complaints of the reader of one document, so that one run shows several of them.
struct ConfigFindings {
  static constexpr std::size_t kMost = 32;
  bool strict = true;  // unknown keys are errors, else warnings
  std::vector<Error> errors;
  std::vector<std::string> warnings;

  void add(Code code, Steps steps, std::string message);
  void add(Error error);
  void warn(Steps steps, std::string message);
  // An error of strict reading.
  void object_to(Code code, Steps steps, std::string message);
  // The first error, whose message goes on with the others.
  Result<void> result() const;
};

// A value in an error: its JSON, cut after 40 bytes.
std::string shown(const Json& value);
// "expected a number, got \"x\"".
std::string expected(std::string_view what, const Json& given);

class ConfigReader : public virtual ConfigVisitor {
 public:
  // Null: every field keeps its default. Both must outlive the reader.
  ConfigReader(ConfigFindings& findings, const Json* object, Steps place = {});

  using ConfigVisitor::operator();
  void operator()(Key key, bool& value) override;
  void operator()(Key key, std::string& value) override;
  void operator()(Key key, std::optional<std::int64_t>& value) override;
  void operator()(Key key, std::vector<double>& value) override;
  void operator()(Key key, std::vector<std::string>& value) override;
  void operator()(Key key, std::vector<std::int64_t>& value) override;
  void operator()(Key key, std::vector<bool>& value) override;
  void json(Key key, Json& value) override;
  void object(Key key, const Fields& fields, std::string_view name) override;

  // The member under one of the key's names; asking marks it as known. Null where there is none.
  const Json* take(Key key);
  // Returns the value of a key without marking it as read.
  const Json* peek(Key key) const;
  // About the member that was given for the key, or about the key that is missing.
  void complain(Code code, Key key, std::string message);
  void complain(Key key, std::string_view what, const Json& given) {
    complain(Code::InvalidConfig, key, expected(what, given));
  }
  // The place of a member, or of a value inside it.
  Steps steps_to(std::string_view key) const;
  // Reports keys that nobody asked for.
  void finish();

 protected:
  void whole(Key key, std::uint64_t& value, SizeRange range) override;
  void wholes(Key key, std::vector<std::size_t>& value, SizeRange items) override;
  void number(Key key, double& value, NumberRange range) override;
  void number(Key key, std::optional<double>& value, NumberRange range) override;
  void list(Key key, std::size_t size, const std::function<void(std::size_t)>& resize,
            const std::function<void(std::size_t, ConfigVisitor&)>& item) override;
  void choose(Key key, std::size_t& index, std::span<const std::string_view> names, Code unknown) override;
  // A name, or a number where names are numbers ("6").
  const std::string* name_of(Key key);

  ConfigFindings& findings_;
  std::string_view used_as_;  // the name that the last member was found under

 private:
  template <class T, class Read>
  void take_list(Key key, std::vector<T>& to, std::string_view list, std::string_view item, Read read);

  const Json* object_;
  Steps place_;
  std::set<std::string, std::less<>> used_;
  std::vector<std::string_view> known_;
  std::string number_;
};

// One object with its fields, and nothing else.
Result<void> read_config(const Json& object, const ConfigVisitor::Fields& fields, Steps place = {});

}  // namespace loom
