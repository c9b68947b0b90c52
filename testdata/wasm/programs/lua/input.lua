-- All solutions of the n queens' problem, by backtracking.
local function queens(n, found)
  local row, left, right = {}, {}, {}
  local function place(c)
    if c > n then
      found(table.concat(row, " "))
      return
    end
    for r = 1, n do
      if not (row[-r] or left[r + c] or right[r - c]) then
        row[c], row[-r], left[r + c], right[r - c] = r, true, true, true
        place(c + 1)
        row[c], row[-r], left[r + c], right[r - c] = nil, nil, nil, nil
      end
    end
  end
  place(1)
end

for n = 4, 8 do
  local count, first = 0
  queens(n, function(solution) count, first = count + 1, first or solution end)
  print(("%d queens: %d solutions, the first %s"):format(n, count, first))
end

-- How often the words of a text occur.
local text = [[
  Buffalo buffalo Buffalo buffalo buffalo buffalo Buffalo buffalo, and how much wood
  would a woodchuck chuck if a woodchuck could chuck wood?]]
local seen, words = {}, {}
for word in text:lower():gmatch("%a+") do
  if not seen[word] then words[#words + 1] = word end
  seen[word] = (seen[word] or 0) + 1
end
table.sort(words, function(a, b) return seen[a] > seen[b] or seen[a] == seen[b] and a < b end)
for i = 1, 5 do print(("%-10s %d"):format(words[i], seen[words[i]])) end

-- Objects, numbers, strings.
local Account = setmetatable({}, {__call = function(class, n) return setmetatable({balance = n}, class) end})
Account.__index = Account
Account.__tostring = function(a) return ("account of %.2f"):format(a.balance) end
function Account:pay(n) self.balance = self.balance - n; return self end
print(Account(100):pay(12.345):pay(0.005), 7 // 2, 2^53, 10 / 3, 0xff, 1 << 40, "a" .. 1)
print(string.pack("<i4", 305419896):byte(1, -1))
print(utf8.len("grüße"), ("%q"):format("a\nb"), select("#", table.unpack({1, 2, 3})))
