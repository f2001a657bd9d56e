import { expect, test } from "bun:test";
import fc from "fast-check";
import { searchFor, urlAt } from "../../src/port-mapping/ssdp.ts";
import { connectionIn, errorIn, externalAddressIn, requestFor } from "../../src/port-mapping/upnp.ts";
import { ip } from "../fake/address.ts";

const ROUTER = ip("192.168.8.1");
const AT = { port: 5000, path: "/rootDesc.xml" };
const found = (lines: readonly string[]) =>
  searchFor(ROUTER).read(new TextEncoder().encode(lines.join("\r\n")));
const service = (type: string, url: string) =>
  `<service><serviceType>urn:schemas-upnp-org:service:${type}</serviceType><controlURL>${url}</controlURL></service>`;

test("the search names the router, and asks for a gateway", () => {
  expect(new TextDecoder().decode(searchFor(ROUTER).bytes).split("\r\n")).toEqual([
    ...["M-SEARCH * HTTP/1.1", "HOST: 192.168.8.1:1900", 'MAN: "ssdp:discover"', "MX: 1"],
    ...["ST: urn:schemas-upnp-org:device:InternetGatewayDevice:1", "", ""],
  ]);
});

test("a description is looked for at the router's own address only", () => {
  const ok = "HTTP/1.1 200 OK";
  expect(found([ok, "Location: http://192.168.8.1:5000/rootDesc.xml", "", ""])).toEqual(AT);
  for (const url of [
    "http://192.168.8.9:5000/rootDesc.xml",
    "http://192.168.8.1.example.org/x",
    "http://example.org/x",
    "https://192.168.8.1/x",
    "file:///etc/passwd",
    "http://user@192.168.8.1/x",
    "http://192.168.8.1:0/x",
    "http://192.168.8.1:5000/a b",
    `http://192.168.8.1/${"x".repeat(300)}`,
    "http://[::ffff:192.168.8.1]/x",
    "",
  ])
    expect([url, found([ok, `LOCATION: ${url}`, "", ""])]).toEqual([
      url,
      url === "" ? { port: 80, path: "/" } : null,
    ]);
  expect(found(["NOTIFY * HTTP/1.1", "LOCATION: http://192.168.8.1/x", "", ""])).toBeNull();
  expect(found([ok, "", ""])).toBeNull();
});

test("of a description, the first service for ports is used, at an address beside it or at another port", () => {
  const other = service("Layer3Forwarding:1", "/ctl/L3F");
  expect(
    connectionIn(`<root>${other}${service("WANIPConnection:2", "/ctl/IPConn")}</root>`, ROUTER, AT),
  ).toEqual({ port: 5000, path: "/ctl/IPConn", service: "urn:schemas-upnp-org:service:WANIPConnection:2" });
  const elsewhere = service("WANPPPConnection:1", "http://192.168.8.1:49000/x?a=1&amp;b=2");
  expect(connectionIn(other + elsewhere, ROUTER, AT)).toMatchObject({ port: 49_000, path: "/x?a=1&b=2" });
  for (const url of ["http://192.168.8.9/x", "//example.org/x", "javascript:0"])
    expect(connectionIn(service("WANIPConnection:1", url), ROUTER, AT)).toBeNull();
  expect(connectionIn(service('WANIPConnection:1"><x', "/x"), ROUTER, AT)).toBeNull();
});

test("a request has its fields, which cannot be anything else", () => {
  const connection = { ...AT, service: "urn:schemas-upnp-org:service:WANIPConnection:1" };
  const { action, body } = requestFor(connection, "AddPortMapping", { NewProtocol: "UDP", NewX: "<a>&" });
  expect(action).toBe('"urn:schemas-upnp-org:service:WANIPConnection:1#AddPortMapping"');
  expect(body).toContain("<NewProtocol>UDP</NewProtocol><NewX>&lt;a&gt;&amp;</NewX></u:AddPortMapping>");
});

test("the address and the number of a mistake are read", () => {
  const told = '<NewExternalIPAddress xmlns:dt="x" dt:dt="string">203.0.113.7</NewExternalIPAddress>';
  expect(externalAddressIn(told)).toBe(ip("203.0.113.7"));
  expect(externalAddressIn("<NewExternalIPAddress></NewExternalIPAddress>")).toBeNull();
  expect(externalAddressIn("<NewExternalIPAddress>2001:db8::1</NewExternalIPAddress>")).toBeNull();
  expect(errorIn("<UPnPError><errorCode> 718 </errorCode></UPnPError>")).toBe(718);
  expect([errorIn("<errorCode>x</errorCode>"), errorIn("")]).toEqual([null, null]);
});

test("nothing that a router says makes a reader throw or names another machine", () => {
  const piece = fc.constantFrom(
    "<service>",
    "</service>",
    "<controlURL>",
    "http://",
    "192.168.8.1",
    ":",
    "/",
    "@",
    "x",
  );
  const text = fc.oneof(
    fc.string(),
    fc.array(piece, { maxLength: 60 }).map((all) => all.join("")),
  );
  fc.assert(
    fc.property(text, (each) => {
      for (const url of [urlAt(ROUTER, each), connectionIn(each, ROUTER, AT), found(each.split("\n"))])
        if (url !== null && url !== "closed") expect(url.path).toStartWith("/");
      errorIn(each);
      externalAddressIn(each);
    }),
  );
  // The time grows with the length, not with its square.
  const long = "<service>".repeat(7_000);
  const began = performance.now();
  connectionIn(long, ROUTER, AT);
  expect(performance.now() - began).toBeLessThan(1_000);
});
