import type { Lab } from "../tools/lab.ts";
import type { Computer } from "./computer.ts";

/** From the order to the moment when whoever gave it is told that it is done; see `now`. */
export interface Span {
  startedAt: number;
  endedAt: number;
}

/** Which of the sandbox's two VPN servers. */
export type ServerNumber = 0 | 1;

/** One of the two that are compared. Each has a home of its own, built alike, and reads the same wg-quick files. */
export interface Side {
  readonly name: string;
  readonly lab: Lab;
  /** On the LAN behind it. */
  readonly computer: Computer;
  connect(server: ServerNumber): Promise<Span>;
  switch(to: ServerNumber): Promise<Span>;
  disconnect(): Promise<Span>;
}
