// Hooks for functions whose parameters we must not touch: note the call, restore every argument register, jump on.
//
// Such a function may take a large struct by value (it lies on the stack, which a jump leaves exactly as it was) or
// change its parameters between builds. On machines without the assembly below these hooks do not exist; what depends
// on them (spans of model load and context creation, token counts) is then unknown.
#include "jumps.h"

#include "real.h"

extern "C" {
#define HEARTH_TIER_JUMP_SLOT(name) \
  __attribute__((visibility("hidden"))) constinit void* hearth_tier_real_##name = nullptr;
HEARTH_TIER_JUMPS(HEARTH_TIER_JUMP_SLOT)
}
#undef HEARTH_TIER_JUMP_SLOT

#if defined(__x86_64__)

// The note runs with all integer and vector argument registers saved; rax holds the count of vector arguments of
// variadic calls. Seven pushes plus the return address keep the stack a multiple of 16.
__asm__(
    ".text\n"
    ".type hearth_tier_note_call,@function\n"
    "hearth_tier_note_call:\n"  // r11 = which
    "  push %rbp\n  mov %rsp, %rbp\n"
    "  push %rdi\n  push %rsi\n  push %rdx\n  push %rcx\n  push %r8\n  push %r9\n  push %rax\n  push %r10\n"
    "  sub $128, %rsp\n"
    "  movups %xmm0, 0(%rsp)\n  movups %xmm1, 16(%rsp)\n  movups %xmm2, 32(%rsp)\n  movups %xmm3, 48(%rsp)\n"
    "  movups %xmm4, 64(%rsp)\n  movups %xmm5, 80(%rsp)\n  movups %xmm6, 96(%rsp)\n  movups %xmm7, 112(%rsp)\n"
    "  mov %r11d, %edi\n"
    "  and $-16, %rsp\n"
    "  call hearth_tier_note\n"
    "  lea -192(%rbp), %rsp\n"
    "  movups 0(%rsp), %xmm0\n  movups 16(%rsp), %xmm1\n  movups 32(%rsp), %xmm2\n  movups 48(%rsp), %xmm3\n"
    "  movups 64(%rsp), %xmm4\n  movups 80(%rsp), %xmm5\n  movups 96(%rsp), %xmm6\n  movups 112(%rsp), %xmm7\n"
    "  add $128, %rsp\n"
    "  pop %r10\n  pop %rax\n  pop %r9\n  pop %r8\n  pop %rcx\n  pop %rdx\n  pop %rsi\n  pop %rdi\n"
    "  pop %rbp\n"
    "  ret\n");

#define HEARTH_TIER_JUMP(name, which)                                                                            \
  __asm__(".text\n.p2align 4\n.globl " #name "\n.type " #name ",@function\n" #name ":\n  endbr64\n  mov $" which \
          ", %r11d\n  call hearth_tier_note_call\n"                                                              \
          "  jmp *hearth_tier_real_" #name "(%rip)\n.size " #name ",.-" #name "\n");

// The numbers are those of hearth::tier::Jump.
HEARTH_TIER_JUMP(llama_model_load_from_file, "0")
HEARTH_TIER_JUMP(llama_model_load_from_splits, "0")
HEARTH_TIER_JUMP(llama_init_from_model, "1")
HEARTH_TIER_JUMP(gguf_init_from_file, "2")
HEARTH_TIER_JUMP(gguf_init_from_file_ptr, "2")
HEARTH_TIER_JUMP(whisper_init_from_file_with_params_no_state, "2")
HEARTH_TIER_JUMP(mtmd_init_from_file, "2")

// llama_batch_ext_add_token(batch, sequence, token), once per token of a prompt: count, keep the token, go; no call.
// rax and r11 belong to nobody here: the function is not variadic. 1023 is kTokensKept - 1.
__asm__(
    ".text\n.p2align 4\n.globl llama_batch_ext_add_token\n.type llama_batch_ext_add_token,@function\n"
    "llama_batch_ext_add_token:\n  endbr64\n  mov $1, %eax\n"
    "  lock xaddq %rax, hearth_tier_batch_tokens(%rip)\n"
    "  and $1023, %eax\n  lea hearth_tier_batch_ids(%rip), %r11\n  mov %edx, (%r11,%rax,4)\n"
    "  jmp *hearth_tier_real_llama_batch_ext_add_token(%rip)\n"
    ".size llama_batch_ext_add_token,.-llama_batch_ext_add_token\n");

static_assert(hearth::tier::kTokensKept == 1024);
static_assert(static_cast<int>(hearth::tier::Jump::kLoadModel) == 0);
static_assert(static_cast<int>(hearth::tier::Jump::kInitContext) == 1);
static_assert(static_cast<int>(hearth::tier::Jump::kOpenFile) == 2);

#endif
