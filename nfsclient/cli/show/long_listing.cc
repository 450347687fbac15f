#include "nfsclient/cli/show/long_listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "nfsclient/cli/show/format.h"
#include "nfsclient/cli/show/human_size.h"
#include "nfsclient/cli/show/owner_name.h"

namespace nfswalk::cli {
namespace {

std::string SizeText(uint64_t bytes, LongStyle style) {
  return style.human ? HumanSize(bytes) : fmt::format("{}", bytes);
}

struct Widths {
  size_t links = 0, user = 0, group = 0, size = 0, device_minor = 0;
};

struct Owner {
  std::string text;
  bool is_name = false;
};

Owner OwnerText(const std::string& name, uint32_t number, LongStyle style) {
  if (style.numeric || name.empty()) return {fmt::format("{}", number), false};
  return {name, true};
}

// Names stand at the left of their column, numbers at its right.
std::string OwnerColumn(const Owner& owner, size_t width) {
  return owner.is_name ? fmt::format("{:<{}}", owner.text, width)
                       : fmt::format("{:>{}}", owner.text, width);
}

Owner UserOf(const ListedFile& file, LongStyle style) {
  return OwnerText(style.numeric ? std::string() : UserName(file.attributes.uid),
                   file.attributes.uid, style);
}

Owner GroupOf(const ListedFile& file, LongStyle style) {
  return OwnerText(style.numeric ? std::string() : GroupName(file.attributes.gid),
                   file.attributes.gid, style);
}

Widths WidthsOf(const std::vector<ListedFile>& files, LongStyle style) {
  Widths widths;
  size_t device_major = 0;
  auto widen = [](size_t& width, size_t length) { width = std::max(width, length); };
  for (const ListedFile& file : files) {
    const Attributes& attributes = file.attributes;
    widen(widths.links, fmt::formatted_size("{}", attributes.nlink));
    widen(widths.user, UserOf(file, style).text.size());
    widen(widths.group, GroupOf(file, style).text.size());
    if (IsDevice(attributes.type)) {
      widen(device_major, fmt::formatted_size("{}", attributes.rdev_major));
      widen(widths.device_minor, fmt::formatted_size("{}", attributes.rdev_minor));
    } else {
      widen(widths.size, SizeText(attributes.size_bytes, style).size());
    }
  }
  if (widths.device_minor > 0) widen(widths.size, device_major + 2 + widths.device_minor);
  return widths;
}

std::string SizeColumn(const Attributes& attributes, const Widths& widths, LongStyle style) {
  if (!IsDevice(attributes.type)) {
    return fmt::format("{:>{}}", SizeText(attributes.size_bytes, style), widths.size);
  }
  return fmt::format("{:>{}}, {:>{}}", attributes.rdev_major, widths.size - 2 - widths.device_minor,
                     attributes.rdev_minor, widths.device_minor);
}

}  // namespace

std::string LongListing(const std::vector<ListedFile>& files, LongStyle style) {
  const Widths widths = WidthsOf(files, style);
  const bool marks_acls = std::ranges::any_of(files, &ListedFile::has_acl);
  std::string text;
  for (const ListedFile& file : files) {
    const Attributes& attributes = file.attributes;
    const std::string_view mark = file.has_acl ? "+" : marks_acls ? " " : "";
    text += fmt::format(
        "{}{} {:>{}} {} {} {} {} {}\n", ModeString(attributes), mark, attributes.nlink,
        widths.links, OwnerColumn(UserOf(file, style), widths.user),
        OwnerColumn(GroupOf(file, style), widths.group), SizeColumn(attributes, widths, style),
        LocalMinute(attributes.mtime), file.title);
  }
  return text;
}

std::string TotalLine(const std::vector<ListedFile>& files, LongStyle style) {
  uint64_t bytes = 0;
  for (const ListedFile& file : files) bytes += file.attributes.used_bytes;
  return style.human ? fmt::format("total {}\n", HumanSize(bytes))
                     : fmt::format("total {}\n", Kibibytes(bytes));
}

}  // namespace nfswalk::cli
