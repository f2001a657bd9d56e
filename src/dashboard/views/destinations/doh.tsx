import type { DnsLists } from "../../../dns/schema.ts";
import { change } from "../../api.ts";
import { say } from "../../language.ts";
import { Button } from "../../parts/button.tsx";
import { bodyWith } from "../../wanted-lists.ts";

/** The switch for the names of resolvers that answer by HTTPS, past the gateway. */
export function Doh({ lists }: { lists: DnsLists }) {
  const isBlocked = lists.block_doh;
  const turn = async () => {
    await change("PUT", "dns/lists", bodyWith(lists, { block_doh: !isBlocked }));
  };
  return (
    <div class="dns-doh">
      <p class="quiet">
        {isBlocked
          ? say("The names of well-known resolvers that answer by HTTPS are blocked for all devices.")
          : say(
              "A program that asks its own resolver over HTTPS does not ask the gateway. You can block the names of well-known ones for all devices.",
            )}
      </p>
      <Button doing={say("Saving…")} work={turn}>
        {isBlocked ? say("Unblock these resolvers") : say("Block these resolvers")}
      </Button>
    </div>
  );
}
