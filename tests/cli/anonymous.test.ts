import { expect, test } from "bun:test";
import { Anonymous } from "../../src/cli/anonymous.ts";
import { PRIVATE, PUBLIC } from "../servers/example.ts";

const shown = (text: string, ...names: string[]) => new Anonymous(names).text(text);

test.each([
  ["wan0 has 192.168.88.2, fd88::2", "wan0 has ADDRESS-1, ADDRESS-2"],
  ["lan0 (192.168.77.0/24, fd77::/64, fe80::/10)", "lan0 (ADDRESS-1/24, ADDRESS-2/64, fe80::/10)"],
  ["[2001:DB8::1]:51820 and 2001:db8::1: refused", "[ADDRESS-1]:51820 and ADDRESS-1: refused"],
  ["::ffff:192.0.2.1 is 192.0.2.1", "ADDRESS-1 is ADDRESS-1"],
  ["from 192.0.2.1. To 192.0.2.1:51820", "from ADDRESS-1. To ADDRESS-1:51820"],
  ["02:00:00:00:00:0A is 02:00:00:00:00:0a", "MAC-1 is MAC-1"],
  ["dst:2001:db8::1, b:2001:db8:1:2:3:4:5:6: at 10:20:30", "dst:ADDRESS-1, b:ADDRESS-2: at 10:20:30"],
  ["fe80::1%wan0 ::ffff:127.0.0.1", "ADDRESS-1%wan0 ADDRESS-2"],
  ["127.0.0.1, ::1, 0.0.0.0/0 and ::/0", "127.0.0.1, ::1, 0.0.0.0/0 and ::/0"],
  [`keys ${PRIVATE} ${PUBLIC} ${PRIVATE}`, "keys KEY-1 KEY-2 KEY-1"],
  ["account 1234 5678 9012 3456 (1234567890123456)", "account ACCOUNT-1 (ACCOUNT-2)"],
  ["accounts i-ABCD-EFGH-2345 and p1234567", "accounts ACCOUNT-1 and ACCOUNT-2"],
  ["the name vpn.Example.org: vpn.example.org does not resolve", "the name HOST-1: HOST-1 does not resolve"],
  [
    "2026-11-22T07:11:14.373Z systemctl restart portcullis.service; /etc/resolv.conf; net.ipv4.ip_forward=1",
    "2026-11-22T07:11:14.373Z systemctl restart portcullis.service; /etc/resolv.conf; net.ipv4.ip_forward=1",
  ],
])("%p becomes %p", (text, anonymous) => {
  expect(shown(text)).toBe(anonymous);
});

test("names are replaced as whole words, in any letter case, and phrases as they are", () => {
  const names = ["se-1", "Grandma's telephone", "tv", "Västerås"];
  expect(shown("SE-1 (Västerås) is not se-10; se-1: Grandma's telephone is on the tv.", ...names)).toBe(
    "NAME-2 (NAME-3) is not se-10; NAME-2: NAME-1 is on the NAME-4.",
  );
});

test("the same text has the same placeholder in all lines of a report", () => {
  const anonymous = new Anonymous(["se-1"]);
  const lines = ["192.0.2.9 se-1", "192.0.2.8 192.0.2.9", "se-1.example.net"];
  expect(lines.map((line) => anonymous.text(line))).toEqual([
    "ADDRESS-1 NAME-1",
    "ADDRESS-2 ADDRESS-1",
    "HOST-1",
  ]);
});
