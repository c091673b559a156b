#include "artifact/import_session.h"

#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>

#include "artifact/store.h"

namespace hearth::artifact {

using base::ErrorCode;
using base::fail;
using base::Result;
using base::Status;

namespace {

constexpr base::Bytes kWritebackStep = 16u << 20;

}  // namespace

Result<ImportSession> Store::begin_import(const domain::ModelId& id, std::optional<base::Bytes> expected,
                                          IfTaken if_taken) {
  if (expected) {
    const auto free = files_.free_bytes(folder_);
    if (!free) return std::unexpected(free.error());
    if (*expected > *free) {
      return fail(
          ErrorCode::no_space,
          fmt::format(
              "importing {} needs {} and {} has {} free; free some space or choose another folder with --data-dir",
              id.text(), base::format_bytes(*expected), folder_, base::format_bytes(*free)));
    }
  }
  const std::string path = new_incoming(".part");
  auto fd = files_.create(path);
  if (!fd) return base::pass(fd, fmt::format("importing {}", id.text()));
  const int raw = fd->get();
  ImportSession session(*this, id, expected, if_taken, path, std::move(*fd));
  if (::flock(raw, LOCK_EX | LOCK_NB) != 0) return base::fail_errno(fmt::format("locking {}", path), errno);
  if (expected) {
    if (auto reserved = files_.reserve(raw, *expected); !reserved)
      return std::unexpected(session.write_error(std::move(reserved.error())));
  }
  return session;
}

ImportSession::ImportSession(Store& store, domain::ModelId id, std::optional<base::Bytes> expected, IfTaken if_taken,
                             std::string path, base::Fd fd)
    : store_(&store),
      id_(std::move(id)),
      expected_(expected),
      if_taken_(if_taken),
      path_(std::move(path)),
      fd_(std::move(fd)) {}

ImportSession::ImportSession(ImportSession&& other) noexcept
    : store_(other.store_),
      id_(std::move(other.id_)),
      expected_(other.expected_),
      if_taken_(other.if_taken_),
      path_(std::exchange(other.path_, {})),
      fd_(std::move(other.fd_)),
      hash_(std::move(other.hash_)),
      received_(other.received_),
      written_back_(other.written_back_),
      head_(other.head_),
      failed_(std::move(other.failed_)) {}

ImportSession::~ImportSession() {
  // A part that cannot be removed is a leftover like that of a crash: the next opening removes it.
  if (!path_.empty()) std::ignore = store_->files_.remove(path_);
}

Status ImportSession::write(std::span<const std::byte> bytes) {
  if (failed_) return std::unexpected(*failed_);
  auto done = append(bytes);
  if (!done) failed_ = done.error();
  return done;
}

Status ImportSession::append(std::span<const std::byte> bytes) {
  if (expected_ && bytes.size() > *expected_ - received_) {
    return fail(ErrorCode::bad_request,
                fmt::format("{} is longer than the {} bytes that were announced", id_.text(), *expected_));
  }
  if (auto good = judge_head(bytes); !good) return good;
  if (auto written = store_->files_.write(fd_.get(), bytes); !written)
    return std::unexpected(write_error(std::move(written.error())));
  hash_.add(bytes);
  received_ += bytes.size();
  if (received_ - written_back_ >= kWritebackStep) {
    begin_writeback(fd_.get(), written_back_, received_ - written_back_);
    written_back_ = received_;
  }
  return {};
}

Status ImportSession::judge_head(std::span<const std::byte> bytes) {
  if (received_ >= head_.size() || bytes.empty()) return {};
  const auto before = static_cast<std::size_t>(received_);
  const std::size_t count = std::min(bytes.size(), head_.size() - before);
  std::ranges::copy(bytes.first(count), head_.begin() + static_cast<std::ptrdiff_t>(before));
  auto good = check_gguf_head(std::span(head_).first(before + count));
  if (!good) return base::pass(good, id_.text());
  return {};
}

base::Error ImportSession::write_error(base::Error error) const {
  if (error.code != ErrorCode::no_space) return std::move(error).in_context(fmt::format("importing {}", id_.text()));
  const std::string of = expected_ ? " of " + base::format_bytes(*expected_) : std::string();
  error.message = fmt::format(
      "importing {}: the disk of {} is full after {}{}; free some space or choose another folder with --data-dir",
      id_.text(), store_->folder_, base::format_bytes(received_), of);
  return error;
}

Result<GgufSummary> ImportSession::judge_whole() const {
  if (expected_ && received_ != *expected_) {
    return fail(ErrorCode::bad_request,
                fmt::format("is incomplete: {} of {} bytes came; import it again", received_, *expected_));
  }
  const auto source = FileSource::open(path_.c_str());
  if (!source) return std::unexpected(source.error());
  auto gguf = read_gguf(*source);
  // To whoever sends the file, a damaged one is a bad request; `corrupt` is what the store says of its own files.
  if (!gguf && gguf.error().code == ErrorCode::corrupt) gguf.error().code = ErrorCode::bad_request;
  if (!gguf) return base::pass(gguf);
  if (auto good = check_is_model(*gguf); !good) return base::pass(good);
  return summarise(*gguf);
}

Result<Imported> ImportSession::finish() && {
  if (failed_) return std::unexpected(*failed_);
  auto summary = judge_whole();
  if (!summary) return base::pass(summary, id_.text());
  if (auto synced = store_->files_.sync(fd_.get()); !synced)
    return std::unexpected(write_error(std::move(synced.error())));
  if (auto sealed = store_->files_.make_read_only(fd_.get()); !sealed)
    return std::unexpected(write_error(std::move(sealed.error())));
  failed_ = base::Error{ErrorCode::internal, fmt::format("the import of {} is over", id_.text())};
  auto imported = store_->publish({.id = id_,
                                   .if_taken = if_taken_,
                                   .digest = Digest(hash_),
                                   .bytes = received_,
                                   .gguf = std::move(*summary),
                                   .part = path_});
  if (!imported) return std::unexpected(write_error(std::move(imported.error())));
  path_.clear();
  return imported;
}

}  // namespace hearth::artifact
