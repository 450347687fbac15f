#include "tests/stress/oracle_history.h"

#include <unordered_set>

namespace nfswalk::stress {

History::History() {
  Attributes root;
  root.type = FileType::kDirectory;
  root.mode = 0777;
  root.nlink = 2;
  root.fileid = kRootNode;
  nodes_.emplace(kRootNode, Node{.type = FileType::kDirectory,
                                 .target = {},
                                 .attributes = {root, beginning_},
                                 .mode = {root.mode, beginning_},
                                 .place = {{kRootNode, ""}, beginning_},
                                 .names = {}});
}

Change& History::NewChange(Tick made, std::string what) {
  return changes_.emplace_back(Change{.made = made, .what = std::move(what)});
}

NodeId History::Make(FileType type, std::string target, Attributes attributes,
                     const Change& change) {
  const NodeId id = ++last_node_;
  attributes.type = type;
  attributes.fileid = id;
  nodes_.emplace(id, Node{.type = type,
                          .target = std::move(target),
                          .attributes = {attributes, change},
                          .mode = {attributes.mode, change},
                          .place = {{kNothing, ""}, change},
                          .names = {}});
  return id;
}

void History::SetName(NodeId directory, std::string_view name, NodeId node, const Change& change) {
  auto& names = nodes_.at(directory).names;
  auto known = names.find(name);
  if (known == names.end()) {
    known = names.emplace(std::string(name), FactHistory<NodeId>(kNothing, beginning_)).first;
  }
  known->second.Add(node, change);
  if (node == kNothing) return;
  Node& child = nodes_.at(node);
  if (child.type == FileType::kDirectory) child.place.Add({directory, std::string(name)}, change);
}

void History::SetAttributes(NodeId node, const Attributes& attributes, const Change& change) {
  Node& of = nodes_.at(node);
  of.attributes.Add(attributes, change);
  if (of.mode.now() != attributes.mode) of.mode.Add(attributes.mode, change);
}

NodeId History::Child(NodeId directory, std::string_view name) const {
  const auto& names = nodes_.at(directory).names;
  const auto known = names.find(name);
  return known == names.end() ? kNothing : known->second.now();
}

const Node* History::Find(NodeId node) const {
  const auto found = nodes_.find(node);
  return found == nodes_.end() ? nullptr : &found->second;
}

void History::Seal() {
  for (auto& [id, node] : nodes_) {
    node.attributes.Seal();
    node.mode.Seal();
    node.place.Seal();
    for (auto& [name, past] : node.names) past.Seal();
  }
}

void History::Forget() {
  std::unordered_set<NodeId> named{kRootNode};
  for (auto& [id, node] : nodes_) {
    node.attributes.Forget(beginning_);
    node.mode.Forget(beginning_);
    node.place.Forget(beginning_);
    for (auto& [name, past] : node.names) {
      past.Forget(beginning_);
      named.insert(past.now());
    }
  }
  std::erase_if(nodes_, [&](const auto& entry) { return !named.contains(entry.first); });
  changes_.clear();
}

}  // namespace nfswalk::stress
