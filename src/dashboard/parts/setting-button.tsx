import type { OwnerSettings } from "../../http/owner.ts";
import { change } from "../api.ts";
import { say } from "../language.ts";
import { Button, type ButtonProps } from "./button.tsx";

interface SettingButtonProps extends Pick<ButtonProps, "ask" | "kind" | "children"> {
  set: OwnerSettings;
}

export const RESTARTS = say(
  "The gateway restarts with it now; tunnels and the kill switch stay as they are.",
);

/** An owner's button for a setting with which the service restarts. */
export function SettingButton({ set, ...props }: SettingButtonProps) {
  return (
    <Button
      {...props}
      doing={say("Checking…")}
      work={async () => {
        await change("PUT", "owner/settings", set);
        return RESTARTS;
      }}
    />
  );
}
