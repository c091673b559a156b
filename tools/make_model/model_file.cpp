#include "tools/make_model/model_file.h"

#include <algorithm>

#include "tools/make_model/output_file.h"
#include "tools/make_model/random.h"
#include "tools/make_model/weights.h"

namespace hearth::make_model {
namespace {

class Writer {
 public:
  Writer(OutputFile& file, const std::function<void(base::Bytes)>& progress, const std::atomic<bool>& stop)
      : file_(file), progress_(progress), stop_(stop) {}

  base::Status write(std::span<const std::byte> bytes) {
    if (stop_) return base::fail(base::ErrorCode::cancelled, "interrupted; nothing was written");
    if (auto written = file_.write(bytes); !written) return written;
    written_ += bytes.size();
    if (progress_) progress_(written_);
    return {};
  }

  base::Status write_tensor(const Plan& plan, const TensorPlan& tensor) {
    Xoshiro random(plan.seed, tensor.name);
    const std::size_t block = tensor.norm ? sizeof(float) : layout_of(plan.type).block_bytes;
    const std::size_t piece = buffer_.size() / block * block;
    for (base::Bytes left = tensor.bytes; left > 0;) {
      const auto part = std::span(buffer_).first(static_cast<std::size_t>(std::min<base::Bytes>(piece, left)));
      if (tensor.norm) {
        fill_norm(random, part);
      } else {
        fill_weights(plan.type, tensor.dimensions.front(), random, part);
      }
      left -= part.size();
      if (auto written = write(part); !written) return written;
    }
    const std::vector<std::byte> padding(static_cast<std::size_t>(padded(tensor.bytes) - tensor.bytes));
    return write(padding);
  }

 private:
  OutputFile& file_;
  const std::function<void(base::Bytes)>& progress_;
  const std::atomic<bool>& stop_;
  base::Bytes written_ = 0;
  // Larger than a cache would only cost: it is filled and handed to the kernel at once.
  std::vector<std::byte> buffer_ = std::vector<std::byte>(512 * 1024);
};

}  // namespace

base::Bytes file_bytes(const Plan& plan) { return plan.head.bytes().size() + plan.head.data_bytes(); }

base::Status write_model(const Plan& plan, const std::string& path, const std::function<void(base::Bytes)>& progress,
                         const std::atomic<bool>& stop) {
  auto file = OutputFile::create(path, file_bytes(plan));
  if (!file) return base::pass(file);
  Writer writer(*file, progress, stop);
  const std::string head = plan.head.bytes();
  if (auto written = writer.write(std::as_bytes(std::span(head))); !written) return written;
  for (const auto& tensor : plan.tensors) {
    if (auto written = writer.write_tensor(plan, tensor); !written) return written;
  }
  return file->publish();
}

}  // namespace hearth::make_model
