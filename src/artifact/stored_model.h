#pragma once
// A model of the store as it was when somebody looked.
#include <string>

#include "artifact/manifest.h"
#include "base/bytes.h"

namespace hearth::artifact {

struct StoredModel {
  Manifest manifest;
  std::string path;         // of the model file, for the engine
  base::Bytes present = 0;  // its bytes on disk now
  bool verified = false;    // its digest was taken, and size and modification time are still those of that moment
};

}  // namespace hearth::artifact
