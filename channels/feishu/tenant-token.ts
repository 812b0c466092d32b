import { z } from 'zod';
import type { Clock } from '../../src/clock.ts';

export type TokenResult = { readonly kind: 'token'; readonly token: string } | NoToken;

interface NoToken {
  readonly kind: 'failed';
  /** The platform refuses these credentials. */
  readonly permanent: boolean;
  readonly error: string;
  /** How long the platform wants to be left alone; null where it did not say. */
  readonly retryAfterMs: number | null;
}

/**
 * Asks the platform for a new token. Never throws.
 * `POST /open-apis/auth/v3/tenant_access_token/internal` (open.feishu.cn).
 */
export type TokenRequest = () => Promise<{ readonly kind: 'answered'; readonly body: unknown } | NoToken>;

/** Refreshed this long before it expires, or at half its life where that is shorter. */
const REFRESH_AHEAD_MS = 5 * 60_000;
/** After a refresh that failed; a token endpoint that hangs must not hold up each call. */
const REFRESH_AGAIN_MS = 30_000;
/** For a call on the way to arrive before the token expires. */
const EXPIRY_MARGIN_MS = 10_000;

/**
 * The app's token for its tenant. Any number of callers share one request, and a token is replaced before it
 * expires; the SDK's own manager does neither (20 cold calls are 20 requests, and a refused token stays cached).
 */
export class TenantToken {
  readonly #request: TokenRequest;
  readonly #clock: Clock;
  #current: { readonly token: string; readonly refreshAt: number; readonly endsAt: number } | null = null;
  #pending: Promise<TokenResult> | null = null;

  constructor(input: { readonly request: TokenRequest; readonly clock: Clock }) {
    this.#request = input.request;
    this.#clock = input.clock;
  }

  get(): Promise<TokenResult> {
    if (this.#current && this.#clock.monotonic() < this.#current.refreshAt)
      return Promise.resolve({ kind: 'token', token: this.#current.token });
    this.#pending ??= this.#refresh().finally(() => {
      this.#pending = null;
    });
    return this.#pending;
  }

  /** The platform refused `token`: the next `get` asks for a new one, unless somebody has already. */
  drop(token: string): void {
    if (this.#current?.token === token) this.#current = null;
  }

  /** While no new token can be had, the one that is about to expire still opens the door. */
  async #refresh(): Promise<TokenResult> {
    const result = await this.#fetch();
    if (result.kind === 'token' || result.permanent || this.#current === null) return result;
    const { token, endsAt } = this.#current;
    const now = this.#clock.monotonic();
    if (now >= endsAt) return result;
    this.#current = { token, endsAt, refreshAt: Math.min(now + REFRESH_AGAIN_MS, endsAt) };
    return { kind: 'token', token };
  }

  async #fetch(): Promise<TokenResult> {
    const askedAt = this.#clock.monotonic();
    const outcome = await this.#request();
    if (outcome.kind === 'failed') return outcome;
    const answer = tokenAnswer.safeParse(outcome.body);
    if (!answer.success)
      return {
        kind: 'failed',
        permanent: false,
        error: 'the token endpoint answered without a token',
        retryAfterMs: null,
      };
    const { tenant_access_token: token, expire } = answer.data;
    const lifeMs = Math.max(0, expire * 1000);
    const aheadMs = Math.min(REFRESH_AHEAD_MS, lifeMs / 2);
    this.#current = {
      token,
      refreshAt: askedAt + lifeMs - aheadMs,
      endsAt: askedAt + lifeMs - Math.min(EXPIRY_MARGIN_MS, aheadMs),
    };
    return { kind: 'token', token };
  }
}

/** The shape of a token guards the header it goes into. */
const tokenAnswer = z.object({
  tenant_access_token: z.string().regex(/^[\x21-\x7e]{1,2048}$/),
  expire: z.number(),
});
