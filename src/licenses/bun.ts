/** A library inside the Bun runtime, and its license as an SPDX expression. */
type Part = readonly [name: string, license: string, source: string];

const hub = (path: string) => `https://github.com/${path}`;

/** What Bun, which is the larger part of the executable, contains on Linux (LICENSE.md of oven-sh/bun). */
export const BUN_PARTS: readonly Part[] = [
  ["JavaScriptCore (WebKit)", "LGPL-2.0-or-later", hub("oven-sh/WebKit")],
  ["tinycc", "LGPL-2.1-or-later", hub("TinyCC/tinycc")],
  ["BoringSSL", "Apache-2.0 AND ISC AND OpenSSL", "https://boringssl.googlesource.com/boringssl/"],
  ["brotli", "MIT", hub("google/brotli")],
  ["libarchive", "BSD-2-Clause", hub("libarchive/libarchive")],
  ["lol-html", "BSD-3-Clause", hub("cloudflare/lol-html")],
  ["ls-hpack", "MIT", hub("litespeedtech/ls-hpack")],
  ["ls-qpack", "MIT", hub("litespeedtech/ls-qpack")],
  ["lsquic", "MIT AND BSD-3-Clause", hub("litespeedtech/lsquic")],
  ["mimalloc", "MIT", hub("microsoft/mimalloc")],
  ["picohttpparser", "MIT", hub("h2o/picohttpparser")],
  ["zstd", "BSD-3-Clause", hub("facebook/zstd")],
  ["simdutf", "Apache-2.0", hub("simdutf/simdutf")],
  ["uSockets", "Apache-2.0", hub("uNetworking/uSockets")],
  ["uWebSockets", "Apache-2.0", hub("jarred-sumner/uwebsockets")],
  ["zlib-ng", "Zlib", hub("zlib-ng/zlib-ng")],
  ["c-ares", "MIT", hub("c-ares/c-ares")],
  ["ICU", "Unicode-3.0", hub("unicode-org/icu")],
  ["base64", "BSD-2-Clause", hub("aklomp/base64")],
  ["libdeflate", "MIT", hub("ebiggers/libdeflate")],
  ["libjpeg-turbo", "BSD-3-Clause AND IJG AND Zlib", hub("libjpeg-turbo/libjpeg-turbo")],
  ["libspng", "BSD-2-Clause", hub("randy408/libspng")],
  ["libwebp", "BSD-3-Clause", hub("webmproject/libwebp")],
  ["highway", "Apache-2.0", hub("google/highway")],
  ["uucode", "MIT", hub("jacobsandlund/uucode")],
  ["SQLite", "blessing", "https://sqlite.org/"],
  ["libc++abi (LLVM)", "Apache-2.0 WITH LLVM-exception", hub("llvm/llvm-project")],
];
