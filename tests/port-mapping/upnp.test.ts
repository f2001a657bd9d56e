import { expect, test } from "bun:test";
import fc from "fast-check";
import { locationIn, messageFor, urlIn } from "../../src/port-mapping/ssdp.ts";
import { connectionsIn, errorIn, externalAddressIn, requestFor } from "../../src/port-mapping/upnp.ts";
import { ip } from "../fake/address.ts";

const ROUTER = ip("192.168.8.1");
const AT = { port: 5000, path: "/rootDesc.xml" };
const found = (lines: readonly string[], end = "\r\n") => locationIn(lines.join(end));
const service = (type: string, url: string) =>
  `<service><serviceType>urn:schemas-upnp-org:service:${type}</serviceType><controlURL>${url}</controlURL></service>`;
const named = (description: string, from = AT) =>
  connectionsIn(description, ROUTER, from).map(
    ({ service, port, path }) => `${service.split(":").slice(1, 5).join(":")} ${port}${path}`,
  );

test("the search asks for what it is given, in the group's name", () => {
  expect(new TextDecoder().decode(messageFor("ssdp:all")).split("\r\n")).toEqual([
    ...["M-SEARCH * HTTP/1.1", "HOST: 239.255.255.250:1900", 'MAN: "ssdp:discover"', "MX: 1"],
    ...["ST: ssdp:all", "", ""],
  ]);
});

test("of where a description is, port and path count, however the router names itself", () => {
  const ok = "HTTP/1.1 200 OK";
  expect(found([ok, "Location: http://192.168.8.1:5000/rootDesc.xml", "", ""])).toEqual(AT);
  expect(found([ok, "LOCATION:http://10.0.0.138:5000/rootDesc.xml", "", ""], "\n")).toEqual(AT);
  expect(found([ok, "Location: http://router.lan:5000/rootDesc.xml", "", ""])).toEqual(AT);
  expect(found([ok, "Location : http://192.168.8.1/x?y=1", "", ""])).toEqual({ port: 80, path: "/x?y=1" });
  for (const url of [
    "https://192.168.8.1/x",
    "file:///etc/passwd",
    "http://user@192.168.8.1/x",
    "http://192.168.8.1:0/x",
    "http://192.168.8.1:5000/a b",
    `http://192.168.8.1/${"x".repeat(300)}`,
    "",
  ])
    expect([url, found([ok, `LOCATION: ${url}`, "", ""])]).toEqual([url, null]);
  expect(found(["NOTIFY * HTTP/1.1", "LOCATION: http://192.168.8.1/x", "", ""])).toBeNull();
  expect(found([ok, "", ""])).toBeNull();
});

test("of a description, all services for ports are read, the newest kind first", () => {
  const other = service("Layer3Forwarding:1", "/ctl/L3F");
  expect(named(`<root>${other}${service("WANIPConnection:2", "/ctl/IPConn")}</root>`)).toEqual([
    "schemas-upnp-org:service:WANIPConnection:2 5000/ctl/IPConn",
  ]);
  const legacy = service("WANIPConnection:1", "/old").replace("schemas-upnp-org", "dslforum-org");
  const ppp = service("WANPPPConnection:1", "http://10.0.0.138:49000/x?a=1&amp;b=2");
  expect(named(legacy + ppp + other + service("WANIPConnection:1", "/c"))).toEqual([
    "schemas-upnp-org:service:WANIPConnection:1 5000/c",
    "schemas-upnp-org:service:WANPPPConnection:1 49000/x?a=1&b=2",
    "dslforum-org:service:WANIPConnection:1 5000/old",
  ]);
});

test("a description may have a base, prefixes, attributes and comments", () => {
  expect(named(`<URLBase>http://10.0.0.138:8080/</URLBase>${service("WANIPConnection:1", "c")}`)).toEqual([
    "schemas-upnp-org:service:WANIPConnection:1 8080/c",
  ]);
  const prefixed = service("WANIPConnection:1", "/c").replaceAll(/<(\/?)(\w)/g, "<$1d:$2");
  expect(named(prefixed.replace("<d:service>", '<d:service xmlns:d="urn:x">'))).toEqual([
    "schemas-upnp-org:service:WANIPConnection:1 5000/c",
  ]);
  expect(
    named(`<!-- ${service("WANIPConnection:2", "/off")} -->${service("WANIPConnection:1", "/c")}`),
  ).toEqual(["schemas-upnp-org:service:WANIPConnection:1 5000/c"]);
  for (const url of ["javascript:0", "", "https://192.168.8.1/x"])
    expect([url, named(service("WANIPConnection:1", url))]).toEqual([url, []]);
  expect(named(service('WANIPConnection:1"><x', "/x"))).toEqual([]);
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
  expect(errorIn('<c:errorCode xmlns:c="x">725</c:errorCode>')).toBe(725);
  expect(errorIn("<errorCodes>1</errorCodes><errorCode>402</errorCode>")).toBe(402);
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
      for (const url of [urlIn(each), ...connectionsIn(each, ROUTER, AT), locationIn(each)])
        if (url !== null) expect(url.path).toStartWith("/");
      errorIn(each);
      externalAddressIn(each);
    }),
  );
  // The time grows with the length, not with its square.
  const began = process.cpuUsage();
  for (const piece of ["<service>", "<service ", "<!--", "serviceType", "<a:a:"])
    connectionsIn(piece.repeat(65_536 / piece.length), ROUTER, AT);
  expect(process.cpuUsage(began).user).toBeLessThan(1_000_000);
});
