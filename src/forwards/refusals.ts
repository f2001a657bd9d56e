import { refusals } from "../base/refusals.ts";

const OF_TUNNEL = "the {tunnel, select, main {main tunnel} other {tunnel {tunnel}}}";

export const refused = refusals({
  not_found: { forward_unknown: "there is no such forward; to list them: portcullis forwards" },
  interrupted: { forward_removed: "the forward was removed meanwhile" },
  "bad_request: device": {
    device_not_single:
      "must be a MAC address, such as 02:00:00:00:00:20; only a single device on the LAN itself can be forwarded to",
  },
  "bad_request: protocol": { protocol_unknown: "must be tcp or udp" },
  "bad_request: port": {
    dns_port: "the kill switch keeps port 53, DNS, inside the tunnels; choose another port of the device",
  },
  timed_out: {
    provider_silent: "the provider has not answered yet",
    port_server_silent: "the server does not answer requests for a port; it is asked again",
  },
  unable: {
    port_unplaced: "{reason}",
    number_missing: "a number is required: --external",
    port_taken: `{by, select, remote {devices away from home come in at port {port} of ${OF_TUNNEL}; choose another one} other {port {port} of ${OF_TUNNEL} already leads to another device or port; remove that forward first}}`,
    company_without_ports:
      "{company}, whose server {server} is, does not open ports; connect to a server of a provider that does, such as Proton VPN, Private Internet Access or AirVPN",
    // What a device is refused that has asked by PCP or NAT-PMP.
    dns_port_of_device: "port 53 is not forwarded",
    forwarded_by_person: "a person has forwarded this port",
    device_not_on_lan: "only a device on the LAN itself can be forwarded to",
    forwards_full: "there can be no more forwards",
  },
});
