// A real issuer of OpenID Connect for tests: panva/node-oidc-provider. It signs people in by the device flow, and gives workloads JWTs.
// A test says who signs in by POST /approve?user_code=CODE&account=NAME, in place of a browser with a form.
import http from 'node:http'
import Provider from 'oidc-provider'

const port = Number(process.argv[2])
const issuer = `http://127.0.0.1:${port}`
const groups = { ann: ['staff', 'ops'], bob: ['staff'], ci: ['robots'] }

const provider = new Provider(issuer, {
  clients: [
    {
      client_id: 'taskrt', token_endpoint_auth_method: 'none', application_type: 'native', redirect_uris: [], response_types: [],
      grant_types: ['urn:ietf:params:oauth:grant-type:device_code'],
    },
    { client_id: 'ci', client_secret: 'only-in-this-test', redirect_uris: [], response_types: [], grant_types: ['client_credentials'] },
  ],
  scopes: ['openid', 'groups'],
  claims: { openid: ['sub'], groups: ['groups'] },
  conformIdTokenClaims: false,
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, groups: groups[id] ?? [] }) }),
  extraTokenClaims: (_, token) => ({ groups: groups[token.clientId] ?? [] }),
  features: {
    deviceFlow: { enabled: true },
    clientCredentials: { enabled: true },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: (_, resource) => ({ scope: '', audience: resource.split('/').pop(), accessTokenFormat: 'jwt', accessTokenTTL: 3600 }),
    },
  },
})

async function approve(url) {
  const code = await provider.DeviceCode.findByUserCode(url.searchParams.get('user_code').replaceAll('-', ''))
  const account = url.searchParams.get('account')
  const grant = new provider.Grant({ clientId: code.clientId, accountId: account })
  grant.addOIDCScope(code.params.scope)
  Object.assign(code, {
    accountId: account, grantId: await grant.save(), scope: code.params.scope, authTime: Math.floor(Date.now() / 1000), claims: {}, acr: undefined,
  })
  await code.save()
}

const serve = provider.callback()
http.createServer((req, res) => {
  const url = new URL(req.url, issuer)
  if (url.pathname !== '/approve') return serve(req, res)
  approve(url).then(() => res.end('ok'), (err) => { res.statusCode = 500; res.end(String(err.stack)) })
}).listen(port, '127.0.0.1', () => console.log('ready'))
