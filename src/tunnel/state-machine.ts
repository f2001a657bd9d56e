import type { Session } from "./session.ts";
import { carriedBy, type Event, isUnanswered, type State, transition } from "./state.ts";

/** `error` says why the tunnel is in that state, if something failed. */
export type StateListener = (state: State, error: string | null) => void;

/** The present state of a tunnel. Only events change it. */
export class StateMachine {
  /** Why the tunnel is in that state, if something failed. */
  error: string | null = null;
  private current: State;
  private readonly listeners = new Set<StateListener>();

  constructor(initial: State = { name: "disconnected" }) {
    this.current = initial;
  }

  get state(): State {
    return this.current;
  }

  /** The state without regard to a dial: during a connect, that of the former tunnel, if there is one. */
  get standing(): State | null {
    return this.current.name === "connecting" ? this.current.former : this.current;
  }

  /** The session that carries traffic, or null. */
  get session(): Session | null {
    return carriedBy(this.current);
  }

  /** Whether its server answers, even if only by handshakes. */
  get isAlive(): boolean {
    return this.standing?.name === "connected";
  }

  /** Whether packets that are sent into the tunnel are answered. */
  get carriesData(): boolean {
    const state = this.standing;
    return state?.name === "connected" && !isUnanswered(state);
  }

  /** Whether its server is known not to answer. */
  get isDead(): boolean {
    const state = this.standing;
    return state?.name === "reconnecting" && state.dead;
  }

  /** Calls back after every change of state. */
  onChange(listener: StateListener): void {
    this.listeners.add(listener);
  }

  /** `error` says why, if something failed. */
  enter(event: Event, error = this.error): void {
    this.error = error;
    this.current = transition(this.current, event);
    this.announce();
  }

  /** The same for a change that is not announced. */
  enterSilently(event: Event): void {
    this.current = transition(this.current, event);
  }

  /** The state of a tunnel that an earlier process has left. */
  adopt(state: State): void {
    this.current = state;
  }

  /** Calls back although the state is the same: something that is shown with it has changed. */
  announce(): void {
    for (const listener of this.listeners) listener(this.current, this.error);
  }
}
