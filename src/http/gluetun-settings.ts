import { type Static, Type } from "typebox";
import { Value } from "typebox/value";
import { objectOf } from "../base/object.ts";

const Text = Type.Literal("");
const None = Type.Null();
const Zero = Type.Literal(0);
const No = Type.Literal(false);

/**
 * As in gluetun's internal/configuration/settings/vpn.go. Homarr shows the protocol and the provider, and refuses an
 * answer in which any of the other fields is missing; here they are always empty.
 */
export const GluetunSettings = object({
  type: Type.Literal("wireguard"),
  provider: object({
    name: Type.String({ description: "the VPN account's provider, or custom" }),
    server_selection: object({
      vpn: Text,
      countries: None,
      categories: None,
      regions: None,
      cities: None,
      isps: None,
      names: None,
      numbers: None,
      hostnames: Type.Array(Type.String(), { maxItems: 0 }),
      owned_only: No,
      free_only: No,
      premium_only: No,
      stream_only: No,
      multi_hop_only: No,
      port_forward_only: No,
      secure_core_only: No,
      tor_only: No,
      openvpn: object({
        config_file_path: Text,
        protocol: Text,
        endpoint_ip: Text,
        custom_port: Zero,
        pia_encryption_preset: Text,
      }),
      wireguard: object({ endpoint_ip: Text, endpoint_port: Zero, public_key: Text }),
    }),
    port_forwarding: object({
      enabled: No,
      provider: Text,
      status_file_path: Text,
      up_command: Text,
      down_command: Text,
      listening_port: Zero,
      username: Text,
      password: Text,
    }),
  }),
  openvpn: object({
    version: Text,
    user: Text,
    password: Text,
    config_file_path: Text,
    ciphers: None,
    auth: Text,
    cert: Text,
    key: Text,
    encrypted_key: Text,
    key_passphrase: Text,
    pia_encryption_preset: Text,
    mssfix: Zero,
    interface: Text,
    process_user: Text,
    verbosity: Zero,
    flags: None,
  }),
  wireguard: object({
    private_key: Text,
    pre_shared_key: Text,
    addresses: Type.Array(Type.String(), { maxItems: 0 }),
    allowed_ips: Type.Array(Type.String(), { maxItems: 0 }),
    interface: Text,
    persistent_keep_alive_interval: Zero,
    mtu: Zero,
    implementation: Text,
  }),
});

function object<Fields extends Parameters<typeof Type.Object>[0]>(fields: Fields) {
  return objectOf(fields);
}

export function settingsOf(provider: string): Static<typeof GluetunSettings> {
  const empty = Value.Create(GluetunSettings);
  return { ...empty, provider: { ...empty.provider, name: provider } };
}
