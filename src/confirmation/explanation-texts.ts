import type { Locale } from '../locale.ts';
import type { ExplainedFreeze, Obstacle } from './explanation.ts';

/** The words of an explanation. Names and texts of rules stand between them as they are. */
export interface ExplanationTexts {
  readonly call: (tool: string, agent: string, requester: string | null) => string;
  readonly asked: (policy: string, status: string) => string;
  readonly allowed: string;
  readonly denied: (message: string) => string;
  readonly verificationCode: (code: string) => string;
  readonly digest: (digest: string) => string;
  readonly rules: string;
  readonly rulesUnknown: string;
  readonly notCovered: (tools: string) => string;
  readonly decides: string;
  readonly decidesFlagged: string;
  readonly raises: string;
  readonly holds: (when: string, reads: string | null) => string;
  readonly always: string;
  readonly holdsNot: (when: string, reads: string | null) => string;
  readonly passedOver: (stricter: string) => string;
  readonly failed: (message: string) => string;
  readonly notFlagged: string;
  readonly people: string;
  readonly may: (through: string) => string;
  readonly mayNot: (why: string, through: string) => string;
  readonly obstacles: Readonly<Record<Obstacle, string>>;
  readonly notASeat: string;
  readonly away: (from: string | null, until: string | null) => string;
  readonly delegate: (name: string) => string;
  readonly seated: (name: string) => string;
  readonly standsFor: (person: string, holder: string) => string;
  readonly delegateNot: (name: string, why: string) => string;
  readonly quorum: (given: number, needed: number, by: string | null) => string;
  readonly missing: (count: number) => string;
  readonly heldByFreeze: (freeze: ExplainedFreeze, by: string) => string;
  readonly readOnly: Readonly<Record<'organization' | 'connector', string>>;
  readonly toolChanged: string;
  readonly coolingOff: (until: string) => string;
  readonly revision: (revision: string) => string;
  readonly list: (items: readonly string[]) => string;
  readonly clauses: (parts: readonly string[]) => string;
}

export const EXPLANATION_TEXTS: Readonly<Record<Locale, ExplanationTexts>> = {
  'zh-CN': {
    call: (tool, agent, requester) =>
      `${tool}，由代理 ${agent} 发起${requester === null ? '' : `，代表 ${requester}`}`,
    asked: (policy, status) => `需要审批：由策略 ${policy} 决定（状态：${status}）`,
    allowed: '无需审批：没有规则要求确认。',
    denied: (message) => `拒绝执行（policy_error）：${message}`,
    verificationCode: (code) => `核对码：${code}`,
    digest: (digest) => `参数指纹：${digest}`,
    rules: '规则，按尝试的顺序：',
    rulesUnknown: '这份请求早于此项记录，没有保存各规则的情况。',
    notCovered: (tools) => `不适用于此工具（${tools}）`,
    decides: '由它决定',
    decidesFlagged: '由它决定，因为工具或代理要求确认，而没有策略匹配',
    raises: '底线适用：规则不会低于它',
    holds: (when, reads) => `条件成立：${when}${reads === null ? '' : `（查看了 ${reads}）`}`,
    always: '没有条件',
    holdsNot: (when, reads) => `条件不成立：${when}${reads === null ? '' : `（查看了 ${reads}）`}`,
    passedOver: (stricter) => `匹配但被跳过：它读取代理提供的内容，并且不如 ${stricter} 严格`,
    failed: (message) => `无法判断：${message}`,
    notFlagged: '不适用：工具和代理都不要求确认',
    people: '谁可以批准：',
    may: (through) => `可以，依据 ${through}`,
    mayNot: (why, through) => `不可以：${why}（依据 ${through}）`,
    obstacles: {
      requester: '是申请人',
      agent_owner: '是代理的负责人',
      excluded: '被策略的 excluded 排除',
      below_floor: '不在底线的审批人之中',
      inactive_then: '发起时已停用',
      inactive_now: '现已停用',
      away: '整个期限内都不在',
      not_escalated: '升级之后才加入',
      has_a_seat: '自己已有席位',
    },
    notASeat: '没有席位',
    away: (from, until) => `不在：${from ?? '已开始'} 至 ${until ?? '另行通知'}`,
    delegate: (name) => `由 ${name} 代理`,
    seated: (name) => `已由 ${name} 代理`,
    standsFor: (person, holder) => `${person} 代 ${holder}`,
    delegateNot: (name, why) => `代理人 ${name} 不能代理：${why}`,
    quorum: (given, needed, by) => `票数：${given}/${needed}${by === null ? '' : `（${by}）`}`,
    missing: (count) => `还需 ${count} 人`,
    heldByFreeze: ({ tools, reason, startedAt, holdsRequest }, by) =>
      `${holdsRequest ? '已冻结，暂不执行' : '此工具已冻结（这份请求已结束，不受影响）'}：${by} 自 ${startedAt} 冻结 ${tools.join('、')}，原因：“${reason}”`,
    readOnly: {
      organization: '整个组织的写入已关闭：现在领取执行权会使批准作废',
      connector: '此连接器的写入已关闭：现在领取执行权会使批准作废',
    },
    toolChanged: '工具的定义在提出请求后已变更：这份请求不会执行，请重新提出',
    coolingOff: (until) => `冷静期至 ${until}：在此之前不会执行，审批人可以撤回批准`,
    revision: (revision) => `配置版本：${revision}`,
    list: (items) => items.join('、'),
    clauses: (parts) => parts.join('；'),
  },
  'en-US': {
    call: (tool, agent, requester) =>
      `${tool}, asked by the agent ${agent}${requester === null ? '' : ` for ${requester}`}`,
    asked: (policy, status) => `People are asked: the policy ${policy} decides (status: ${status})`,
    allowed: 'Nobody is asked: no rule wants a confirmation.',
    denied: (message) => `The call is denied (policy_error): ${message}`,
    verificationCode: (code) => `Verification code: ${code}`,
    digest: (digest) => `Digest: ${digest}`,
    rules: 'Rules, in the order in which they were tried:',
    rulesUnknown: 'This request is older than this record; what became of each rule was not kept.',
    notCovered: (tools) => `does not cover the tool (${tools})`,
    decides: 'decides',
    decidesFlagged: 'decides, because the tool or the agent requires a confirmation and no policy matches',
    raises: 'the floor applies: nothing decides below it',
    holds: (when, reads) => `its condition holds: ${when}${reads === null ? '' : ` (looked at ${reads})`}`,
    always: 'it has no condition',
    holdsNot: (when, reads) =>
      `its condition does not hold: ${when}${reads === null ? '' : ` (looked at ${reads})`}`,
    passedOver: (stricter) =>
      `matches and is passed over: it reads what the agent sends and is not as strict as ${stricter}`,
    failed: (message) => `cannot be told: ${message}`,
    notFlagged: 'does not apply: neither the tool nor the agent requires a confirmation',
    people: 'Who could approve:',
    may: (through) => `yes, through ${through}`,
    mayNot: (why, through) => `no: ${why} (through ${through})`,
    obstacles: {
      requester: 'is the requester',
      agent_owner: "is the agent's owner",
      excluded: 'is excluded by the policy',
      below_floor: 'is not an approver of the floor',
      inactive_then: 'was not active when it was asked',
      inactive_now: 'is not active now',
      away: 'is away the whole time',
      not_escalated: 'is added by the escalation, which has not happened',
      has_a_seat: 'has a seat of their own',
    },
    notASeat: 'has no seat',
    away: (from, until) => `away from ${from ?? 'before'} until ${until ?? 'further notice'}`,
    delegate: (name) => `${name} can stand in`,
    seated: (name) => `${name} stands in`,
    standsFor: (person, holder) => `${person} for ${holder}`,
    delegateNot: (name, why) => `the delegate ${name} cannot stand in: ${why}`,
    quorum: (given, needed, by) => `Approvals: ${given}/${needed}${by === null ? '' : ` (${by})`}`,
    missing: (count) => `${count} more needed`,
    heldByFreeze: ({ tools, reason, startedAt, holdsRequest }, by) =>
      `${holdsRequest ? 'Frozen, so it does not run' : 'The tool is frozen (this request is over, and not touched)'}: ${by} froze ${tools.join(', ')} at ${startedAt}: “${reason}”`,
    readOnly: {
      organization: 'Writing is switched off for the organization: a claim now revokes the grant',
      connector: 'Writing is switched off for the connector: a claim now revokes the grant',
    },
    toolChanged: 'The tool is another one than was asked about: this request will not run, ask again',
    coolingOff: (until) =>
      `Cooling off until ${until}: it does not run before then, and an approver may revoke the approval`,
    revision: (revision) => `Configuration: ${revision}`,
    list: (items) => items.join(', '),
    clauses: (parts) => parts.join('; '),
  },
};
