#include "artifact/gguf_types.h"

#include <algorithm>
#include <array>

namespace hearth::artifact {
namespace {

struct NumberedType {
  std::uint32_t number;
  TensorType type;
};

constexpr std::array kTensorTypes = {
    NumberedType{0, {"F32", 1, 4}},         NumberedType{1, {"F16", 1, 2}},
    NumberedType{2, {"Q4_0", 32, 18}},      NumberedType{3, {"Q4_1", 32, 20}},
    NumberedType{6, {"Q5_0", 32, 22}},      NumberedType{7, {"Q5_1", 32, 24}},
    NumberedType{8, {"Q8_0", 32, 34}},      NumberedType{9, {"Q8_1", 32, 36}},
    NumberedType{10, {"Q2_K", 256, 84}},    NumberedType{11, {"Q3_K", 256, 110}},
    NumberedType{12, {"Q4_K", 256, 144}},   NumberedType{13, {"Q5_K", 256, 176}},
    NumberedType{14, {"Q6_K", 256, 210}},   NumberedType{15, {"Q8_K", 256, 292}},
    NumberedType{16, {"IQ2_XXS", 256, 66}}, NumberedType{17, {"IQ2_XS", 256, 74}},
    NumberedType{18, {"IQ3_XXS", 256, 98}}, NumberedType{19, {"IQ1_S", 256, 50}},
    NumberedType{20, {"IQ4_NL", 32, 18}},   NumberedType{21, {"IQ3_S", 256, 110}},
    NumberedType{22, {"IQ2_S", 256, 82}},   NumberedType{23, {"IQ4_XS", 256, 136}},
    NumberedType{24, {"I8", 1, 1}},         NumberedType{25, {"I16", 1, 2}},
    NumberedType{26, {"I32", 1, 4}},        NumberedType{27, {"I64", 1, 8}},
    NumberedType{28, {"F64", 1, 8}},        NumberedType{29, {"IQ1_M", 256, 56}},
    NumberedType{30, {"BF16", 1, 2}},       NumberedType{34, {"TQ1_0", 256, 54}},
    NumberedType{35, {"TQ2_0", 256, 66}},   NumberedType{39, {"MXFP4", 32, 17}},
    NumberedType{40, {"NVFP4", 64, 36}},    NumberedType{41, {"Q1_0", 128, 18}},
    NumberedType{42, {"Q2_0", 64, 18}},
};

struct FileType {
  std::uint64_t number;
  std::string_view name;
};

constexpr std::array kFileTypes = {
    FileType{0, "F32"},        FileType{1, "F16"},     FileType{2, "Q4_0"},    FileType{3, "Q4_1"},
    FileType{7, "Q8_0"},       FileType{8, "Q5_0"},    FileType{9, "Q5_1"},    FileType{10, "Q2_K"},
    FileType{11, "Q3_K_S"},    FileType{12, "Q3_K_M"}, FileType{13, "Q3_K_L"}, FileType{14, "Q4_K_S"},
    FileType{15, "Q4_K_M"},    FileType{16, "Q5_K_S"}, FileType{17, "Q5_K_M"}, FileType{18, "Q6_K"},
    FileType{19, "IQ2_XXS"},   FileType{20, "IQ2_XS"}, FileType{21, "Q2_K_S"}, FileType{22, "IQ3_XS"},
    FileType{23, "IQ3_XXS"},   FileType{24, "IQ1_S"},  FileType{25, "IQ4_NL"}, FileType{26, "IQ3_S"},
    FileType{27, "IQ3_M"},     FileType{28, "IQ2_S"},  FileType{29, "IQ2_M"},  FileType{30, "IQ4_XS"},
    FileType{31, "IQ1_M"},     FileType{32, "BF16"},   FileType{36, "TQ1_0"},  FileType{37, "TQ2_0"},
    FileType{38, "MXFP4_MOE"}, FileType{39, "NVFP4"},  FileType{40, "Q1_0"},   FileType{41, "Q2_0"},
};

}  // namespace

std::optional<TensorType> tensor_type_of(std::uint32_t number) {
  const auto found = std::ranges::find(kTensorTypes, number, &NumberedType::number);
  if (found == kTensorTypes.end()) return std::nullopt;
  return found->type;
}

std::optional<std::string_view> file_type_name(std::uint64_t number) {
  // The bit says that the writer guessed the type; the name is the same.
  constexpr std::uint64_t kGuessed = 1024;
  const auto found = std::ranges::find(kFileTypes, number & ~kGuessed, &FileType::number);
  if (found == kFileTypes.end()) return std::nullopt;
  return found->name;
}

}  // namespace hearth::artifact
