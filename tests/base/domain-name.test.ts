import { expect, test } from "bun:test";
import { parseDomainName } from "../../src/base/domain-name.ts";

test("a name is read as people and lists write it, and what is none is refused", () => {
  const read = (texts: string) => texts.split(" ").map(parseDomainName).join(" ");
  expect(read("Example.COM example.com. .example.com *.example.com *.example.com.")).toBe(
    Array(5).fill("example.com").join(" "),
  );
  expect(read("Bücher.example faß.example 例え。テスト xn--bcher-kva.example")).toBe(
    "xn--bcher-kva.example xn--fa-hia.example xn--r8jz45g.xn--zckzah xn--bcher-kva.example",
  );
  expect(read("ad_server.example _sip._tcp.example -a-.example 2o7.net zip")).toBe(
    "ad_server.example _sip._tcp.example -a-.example 2o7.net zip",
  );
  const none = "a..b ..a *.*.a a*.b 127.0.0.1 0x7f.1 １.２.３.４ ü/x ü@x %61ü.de a:b * . -".split(" ");
  expect([...none, "", "a b", `${"a".repeat(64)}.b`, "a.".repeat(128)].map(parseDomainName)).toEqual(
    Array(none.length + 4).fill(null),
  );
});
