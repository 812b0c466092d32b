import type { Clock } from '../../clock.ts';

/** One app in one tenant with one group, as the developer console would show it. */
export interface FeishuStandinOptions {
  readonly appId: string;
  readonly appSecret: string;
  readonly encryptKey: string;
  readonly verificationToken: string;
  /** `tenant_key` of the organization. */
  readonly tenant: string;
  /** `oc_…`, the group the bot is in. */
  readonly chat: string;
  readonly users: readonly StandinUser[];
  /** Where callbacks go; a function where the address is not known yet. Null: not configured (client error 200340). */
  readonly callbackUrl: string | (() => string | null);
  /** The app takes its callbacks over long connections: none go to `callbackUrl`. */
  readonly longConnection?: boolean;
  readonly port?: number;
  readonly clock?: Clock;
}

export interface StandinUser {
  readonly openId: string;
  readonly unionId: string;
  /** Sent along only where the app may read it. */
  readonly userId?: string;
  /** Callbacks carry the open id alone; the directory still has the others. */
  readonly onlyOpenIdInCallbacks?: boolean;
  /** The company's address for them, in the directory. */
  readonly email?: string;
  readonly name: string;
  /** Language of this person's client; decides which text of a toast they see. Default `zh_cn`. */
  readonly language?: 'zh_cn' | 'en_us';
}
