import { Type } from "typebox";
import { checkerOf } from "../../base/checker.ts";
import { GatewayError } from "../../base/errors.ts";
import type { Send } from "../../system/host.ts";
import { isKey } from "../../wireguard/key-text.ts";
import { checkedJson, commonRefusalIn, malformed, Refusal, unable } from "../answers.ts";

/** An access token of Nord Account. The error does not repeat it. */
export function accessTokenIn(text: string): string {
  const token = text.trim();
  if (/^[0-9a-f]{64}$/i.test(token)) return token;
  throw new GatewayError("bad_request", "Access token: must be 64 hexadecimal digits");
}

export const TOKEN_PAGE = "https://my.nordaccount.com/dashboard/nordvpn/access-tokens/";

const credentials = checkerOf(Type.Object({ nordlynx_private_key: Type.String() }));

/** The private key that NordVPN, at an https address, has assigned to the token's account. */
export async function keyFrom(base: string, send: Send, token: string): Promise<string> {
  const authorization = `Basic ${btoa(`token:${token}`)}`;
  const answer = await send({
    url: `${base}/v1/users/services/credentials`,
    method: "GET",
    headers: { accept: "application/json", authorization },
  });
  const { status } = answer;
  if (status === 401 || status === 403)
    throw new Refusal(
      "UNAUTHORIZED",
      `NordVPN does not accept the access token, or the account is not paid for; make another token at ${TOKEN_PAGE}`,
    );
  if (status < 200 || status >= 300)
    throw (
      commonRefusalIn(answer) ??
      unable(`the provider's answer is not understood (HTTP ${status}); try again later`)
    );
  const { nordlynx_private_key: key } = checkedJson(answer, credentials, "key");
  return isKey(key) ? key : malformed("key");
}
