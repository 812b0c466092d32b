import { type ChannelFinding, failed, passed, skipped } from './diagnosis.ts';

/**
 * Sends a URL check, signed as the platform would sign it, to the address at which callbacks have to arrive: shows
 * that a service with these secrets answers there, and that nothing in between changes what is sent.
 */
export async function checkCallback(input: {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly challenge: string;
  readonly signal: AbortSignal;
}): Promise<ChannelFinding> {
  const { url, headers, body, challenge, signal } = input;
  let response: Response;
  try {
    response = await fetch(url, { method: 'POST', headers, body, redirect: 'manual', signal });
  } catch (error) {
    return unreachable(url, error);
  }
  const { status } = response;
  const answer = await response.text().catch(() => '');
  if (status === 200 && answer.includes(challenge))
    return passed(
      {
        'zh-CN': `回调地址 ${url} 应答正确（从本机检查）`,
        'en-US': `takes callbacks at ${url}, as seen from this machine`,
      },
      isPublic(url) ? null : NOT_PUBLIC,
    );
  const text = {
    'zh-CN': `回调地址 ${url} 返回 ${status}`,
    'en-US': `the callback address ${url} answers ${status}`,
  };
  return failed(text, STATUS_ADVICE[status] ?? OTHER_STATUS);
}

function unreachable(url: string, error: unknown): ChannelFinding {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'no answer';
  const text = {
    'zh-CN': `回调地址 ${url} 无应答（${code}）`,
    'en-US': `nothing answers at ${url} (${code})`,
  };
  return isPublic(url)
    ? failed(text, {
        'zh-CN': '启动服务；检查 publicUrl 的域名解析、防火墙、负载均衡与证书。',
        'en-US':
          'Start the service; check the DNS name in publicUrl, firewall, load balancer and certificate.',
      })
    : skipped(text, {
        'zh-CN': '服务启动之后再运行一次 doctor。',
        'en-US': 'Run doctor again once the service has been started.',
      });
}

/** Whether a platform on the internet could call it at all; whether it can is not known here. */
const isPublic = (url: string): boolean => {
  const { protocol, hostname } = new URL(url);
  return protocol === 'https:' && !/^(localhost|127\.|10\.|192\.168\.|\[)/.test(hostname);
};

const NOT_PUBLIC = {
  'zh-CN': '平台需要公网可达的 https 地址：设置 publicUrl，或改用无需入站网络的模式。',
  'en-US':
    'The platform needs an https address on the internet: set publicUrl, or use the mode that needs none.',
};
const STATUS_ADVICE: Readonly<Record<number, { readonly 'zh-CN': string; readonly 'en-US': string }>> = {
  401: {
    'zh-CN': '正在运行的服务使用了不同的密钥，或中间的代理改动了请求体，或两边时钟相差超过 300 秒。',
    'en-US':
      'The service that runs there has other secrets than this configuration, a proxy in between changes the body, or its clock is over 300 s off.',
  },
  404: {
    'zh-CN': '那里没有这个渠道：publicUrl 指向了别处，或正在运行的服务使用了另一份配置。',
    'en-US':
      'No such channel is there: publicUrl leads elsewhere, or the service runs another configuration.',
  },
};
const OTHER_STATUS = {
  'zh-CN': '有别的程序在该地址应答：检查代理与 publicUrl。',
  'en-US': 'Something else answers in its place: check the proxy, and publicUrl.',
};
