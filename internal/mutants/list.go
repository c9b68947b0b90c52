package main

import "slices"

// mutants is the list, in one file per part of the product; keep one line of reason each.
var mutants = slices.Concat(taskMutants, limitMutants, lifecycleMutants, simMutants, storeMutants, recordMutants, nodeMutants, watchMutants, acceptMutants, behaviorMutants, runtimeMutants, apiMutants, workerMutants, mixedMutants,
	operationMutants, namespaceMutants, quotaMutants, blobMutants, maintenanceMutants, fuelMutants, metricsMutants, childrenMutants, sdkMutants, wordsMutants, contextsMutants, childMutants, trustMutants, auditMutants, memberMutants, backupMutants, formerMutants, queryMutants, jobMutants, socketMutants)
