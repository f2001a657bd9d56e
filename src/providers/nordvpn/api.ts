import { Type } from "typebox";
import { checkerOf } from "../../base/checker.ts";
import type { Send } from "../../system/host.ts";
import { isKey } from "../../wireguard/key-text.ts";
import { checkedJson, commonRefusalIn, malformed, Refusal } from "../answers.ts";
import { refused } from "../refusals.ts";

/** An access token of Nord Account. The error does not repeat it. */
export function accessTokenIn(text: string): string {
  const token = text.trim();
  if (/^[0-9a-f]{64}$/i.test(token)) return token;
  throw refused("access_token_invalid");
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
    throw new Refusal("UNAUTHORIZED", refused("access_token_refused", { page: TOKEN_PAGE }));
  if (status < 200 || status >= 300)
    throw commonRefusalIn(answer) ?? refused("provider_answer_unclear", { status, advice: "later" });
  const { nordlynx_private_key: key } = checkedJson(answer, credentials, "key");
  return isKey(key) ? key : malformed("key");
}
