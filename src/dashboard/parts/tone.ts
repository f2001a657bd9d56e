import type { Tone } from "../../shared/verdict-texts.ts";
import type { IconName } from "./icon.tsx";

export const TONE_ICONS: Readonly<Record<Tone, IconName>> = {
  protected: "shield",
  blocked: "blocked",
  partly: "warning",
  exposed: "warning",
  ready: "good",
  working: "wait",
  unknown: "unknown",
};
