#pragma once
// One line of what people type, and what comes of it.

#include <string>

#include "creature.h"
#include "view.h"

namespace creature {

class Talk {
 public:
  // `path`: where /save keeps the mind; empty: nowhere.
  Talk(Creature& creature, View& view, std::string path) : creature_(creature), view_(view), path_(std::move(path)) {}

  // False when it was a goodbye. Errors of the brain and of files.
  loom::Result<bool> line(const std::string& text);

 private:
  loom::Result<void> command(const std::string& word, const std::string& rest);
  loom::Result<void> teach(const std::string& left, const std::string& right);
  loom::Result<void> react(bool good);
  loom::Result<void> live(const std::string& words);

  Creature& creature_;
  View& view_;
  std::string path_;
};

}  // namespace creature
