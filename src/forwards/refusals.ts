import { COMMON } from "../base/common-refusals.ts";
import { refusals } from "../base/refusals.ts";

const OF_TUNNEL = "the {tunnel, select, main {main tunnel} other {tunnel {tunnel}}}";

export const refused = refusals({
  limit_reached: COMMON.limit_reached,
  port_invalid: COMMON.port_invalid,
  forward_unknown: {
    code: "not_found",
    text: "there is no such forward; to list them: portcullis forwards",
  },
  forward_removed: { code: "interrupted", text: "the forward was removed meanwhile" },
  device_not_single: {
    code: "bad_request",
    field: "device",
    text: "must be a MAC address, such as 02:00:00:00:00:20; only a single device on the LAN itself can be forwarded to",
  },
  protocol_unknown: { code: "bad_request", field: "protocol", text: "must be tcp or udp" },
  dns_port: {
    code: "bad_request",
    field: "port",
    text: "the kill switch keeps port 53, DNS, inside the tunnels; choose another port of the device",
  },
  provider_silent: { code: "timed_out", text: "the provider has not answered yet" },
  port_server_silent: {
    code: "timed_out",
    text: "the server does not answer requests for a port; it is asked again",
  },
  port_unplaced: { code: "unable", text: "{reason}" },
  number_missing: { code: "unable", text: "a number is required: --external" },
  port_taken: {
    code: "unable",
    text: `{by, select, remote {devices away from home come in at port {port} of ${OF_TUNNEL}; choose another one} other {port {port} of ${OF_TUNNEL} already leads to another device or port; remove that forward first}}`,
  },
  company_without_ports: {
    code: "unable",
    text: "{company}, whose server {server} is, does not open ports; connect to a server of a provider that does, such as Proton VPN, Private Internet Access or AirVPN",
  },
  // What a device is refused that has asked by PCP or NAT-PMP.
  dns_port_of_device: { code: "unable", text: "port 53 is not forwarded" },
  forwarded_by_person: { code: "unable", text: "a person has forwarded this port" },
  device_not_on_lan: { code: "unable", text: "only a device on the LAN itself can be forwarded to" },
  forwards_full: { code: "unable", text: "there can be no more forwards" },
});
